"""Watches all the time, whoever else does: the watch of the actors without the lock that makes it single."""

import time

from bandmaster.actors.watch import the_watch
from bandmaster.k8s.errors import PodsUnavailable

if __name__ == "__main__":
    print("watching", flush=True)
    while True:
        try:
            the_watch().run(1.0)
        except PodsUnavailable:
            time.sleep(0.1)
