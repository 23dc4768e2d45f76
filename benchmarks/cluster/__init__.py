"""Questions about pods, asked on a real cluster: the one that KUBECONFIG names, and only when they are named.

Each makes a namespace of its own there and removes it. In the flow: `questions.py` offers them beside the others; they
are left out of "all", since nobody wants to load a cluster by accident.
"""
