"""Sits before a terminal in which an interactive bash runs, and uses it as a person does.

The arguments are the command that starts bash. Whatever is not answered in time ends this with a message.
"""
import codecs, fcntl, os, pty, re, select, struct, sys, termios

PATIENCE = 30

class Terminal:
    def __init__(self, argv):
        self.child, self.master = pty.fork()
        if self.child == 0:
            os.execvp(argv[0], argv)
        self.seen = ""
        # A character of several bytes may come in two pieces.
        self.decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode

    def type(self, text):
        os.write(self.master, text.encode())

    def until(self, pattern):
        """What is shown until a pattern appears, which is taken away with everything before it."""
        while not (match := re.search(pattern, self.seen)):
            ready, _, _ = select.select([self.master], [], [], PATIENCE)
            chunk = os.read(self.master, 4096) if ready else b""
            if not chunk:
                sys.exit(f"{pattern!r} was not shown, but {self.seen!r}")
            self.seen += self.decode(chunk)
        self.seen = self.seen[match.end():]
        return match

    def press_until(self, key, pattern):
        """Presses a key, and again every second like anybody to whom nothing seems to happen: bash says that it
        brings a job to the front before it does so, and takes a key that is faster for its own."""
        while not re.search(pattern, self.seen):
            self.type(key)
            ready, _, _ = select.select([self.master], [], [], 1)
            while ready and not re.search(pattern, self.seen):
                self.seen += self.decode(os.read(self.master, 4096))
                ready, _, _ = select.select([self.master], [], [], 1)
        return self.until(pattern)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def end(self):
        try:
            while os.read(self.master, 4096):
                pass
        except OSError:
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])

CTRL_C, CTRL_Z, CTRL_D = "\x03", "\x1a", "\x04"
PROMPT = r"sitting> "
# Split words: what is typed is echoed, and must not be taken for what is printed.
WAIT = "sh -c 'echo wait''ing; exec sleep 1000'\n"

terminal = Terminal(sys.argv[1:])
terminal.resize(24, 80)
terminal.until(r"[$#>] $")
terminal.type("PS1='sit''ting> '\n")
terminal.until(PROMPT)

terminal.type("test -t 0 && test -t 1 && test -t 2 && echo ter''minal $(tty)\n")
terminal.until(r"terminal /dev/pts/\d+")
terminal.until(PROMPT)
terminal.type("stty size\n")
terminal.until(r"24 80")
terminal.until(PROMPT)

terminal.type(WAIT)
terminal.until("waiting\r\n")
terminal.type(CTRL_C)
terminal.until(PROMPT)
terminal.type("echo co''de $?\n")
terminal.until("code 130")
terminal.until(PROMPT)

terminal.type(WAIT)
terminal.until("waiting\r\n")
terminal.type(CTRL_Z)
terminal.until("Stopped")
terminal.until(PROMPT)
terminal.type("jobs\n")
terminal.until(r"\[1\]\+ +Stopped")
terminal.until(PROMPT)
terminal.type("fg\n")
terminal.until("exec sleep 1000'\r\n")
terminal.press_until(CTRL_C, PROMPT)
terminal.type("jobs; echo no ''more jobs\n")
if "[1]" in terminal.until(r"(?s)(.*)no more jobs").group(1):
    sys.exit("the job is still there")
terminal.until(PROMPT)

terminal.type("""python3 -c 'import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])
print("rea" + "dy", flush=True)
signal.sigwait([signal.SIGWINCH])
print("size", *os.get_terminal_size())'\n""")
terminal.until("ready\r\n")
terminal.resize(50, 132)
terminal.until("size 132 50")
terminal.until(PROMPT)

terminal.type("echo wait''ing; cat\n")
terminal.until("waiting\r\n")
terminal.type("ä line\n")
terminal.until("ä line\r\nä line\r\n")
terminal.type(CTRL_D)
terminal.until(PROMPT)
terminal.type("exit 3\n")
print("bash ended with", terminal.end())
