# What every attack is written with: each attempt prints its name and how it ended.
import ctypes, errno, os, platform, socket, struct, sys

libc = ctypes.CDLL(None, use_errno=True)

class Held(Exception):
    """Nothing was refused, and yet there was nothing to get."""

def attempt(name, action):
    try:
        action()
        answer = "ok"
    except OSError as error:
        answer = errno.errorcode.get(error.errno, str(error.errno))
    except Held as held:
        answer = str(held)
    print(f"{name}: {answer}", flush=True)

def checked(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), "refused")
    return result

# The numbers of calls that libc has no function for: x86_64, everything else (asm-generic/unistd.h).
NUMBERS = {
    "add_key": (248, 217), "bpf": (321, 280), "clone": (56, 220), "delete_module": (176, 106),
    "fchmodat": (268, 53), "finit_module": (313, 273), "init_module": (175, 105), "io_setup": (206, 0),
    "ioperm": (173, -1),
    "kexec_load": (246, 104), "keyctl": (250, 219), "mbind": (237, 235), "mknodat": (259, 33), "openat": (257, 56),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264), "perf_event_open": (298, 241),
    "personality": (135, 92), "pivot_root": (155, 41), "process_vm_readv": (310, 270),
    "ptrace": (101, 117), "reboot": (169, 142), "request_key": (249, 218), "seccomp": (317, 277),
    "setns": (308, 268), "swapon": (167, 224), "syslog": (103, 116), "unshare": (272, 97),
    "userfaultfd": (323, 282), "quotactl": (179, 60), "settimeofday": (164, 170), "acct": (163, 89),
    "umount2": (166, 39), "mount": (165, 40), "sethostname": (170, 161),
    "io_uring_setup": (425, 425), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fspick": (433, 433), "pidfd_open": (434, 434), "clone3": (435, 435), "openat2": (437, 437),
    "pidfd_getfd": (438, 438), "process_madvise": (440, 440), "mount_setattr": (442, 442),
    "set_mempolicy_home_node": (450, 450), "fchmodat2": (452, 452), "statmount": (457, 457), "listmount": (458, 458),
}

def call(name, *arguments):
    number = NUMBERS[name][platform.machine() != "x86_64"]
    return checked(libc.syscall(ctypes.c_long(number), *[
        ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]))

def read(path):
    with open(path, "rb") as file:
        return file.read(4096)

def write(path, content=b"x"):
    with open(path, "wb") as file:
        file.write(content)
