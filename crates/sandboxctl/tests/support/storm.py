# Sends PID 1 more signals, and leaves it more orphans, than it can take.
import os, signal

def forever(action):
    if os.fork() == 0:
        while True:
            action()

def leave_an_orphan():
    child = os.fork()
    if child == 0:
        os.fork()
        os._exit(0)
    os.waitpid(child, 0)

for _ in range(4):
    forever(lambda: os.kill(1, signal.SIGCHLD))
for _ in range(2):
    forever(leave_an_orphan)
print("ready", flush=True)
signal.pause()
