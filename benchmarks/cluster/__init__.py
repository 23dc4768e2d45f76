"""Questions about pods, measured on the cluster of KUBECONFIG, and only if they are named.

Each makes a namespace of its own there and removes it. In the flow: `questions.py` lists them beside the others; "all"
excludes them, so that nobody loads a cluster by accident.
"""
