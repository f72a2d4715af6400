"""Ways out of a sandbox, each a function that gives True where it got out. Run by the agent of `main.rs`, once confined and
once not; what each is called stands there as well, with what has to be told of it."""
import ctypes
import json
import os
import signal
import socket
import sys
import threading
import urllib.parse
import urllib.request

sys.stdin.read()
SCENE = json.load(open("scene.json"))
OUT = SCENE["outside"]
HOME = os.environ["HOME"]
ATTACKS = []


def attack(function):
    ATTACKS.append(function)
    return function


def reads(path, secret="the secret"):
    return secret in open(path, errors="replace").read()


def writes(path):
    with open(path, "a") as file:
        file.write("written\n")
    return True


# --- reading


@attack
def read_key_in_home():
    return reads(f"{HOME}/.ssh/id_rsa")


@attack
def read_by_whole_path():
    return reads(f"{OUT}/secret-1")


@attack
def read_by_dots():
    return reads("../outside/secret-2")


@attack
def read_through_link():
    os.symlink(f"{OUT}/secret-3", "link-3")
    return reads("link-3")


@attack
def read_through_linked_folder():
    os.symlink(OUT, "link-4")
    return reads("link-4/secret-4")


@attack
def read_through_own_root():
    return reads(f"/proc/self/root{OUT}/secret-5")


@attack
def read_through_root_of_parent():
    return reads(f"/proc/{os.getppid()}/root{OUT}/secret-6")


@attack
def read_through_root_of_another():
    return reads(f"/proc/{SCENE['victim']}/root{OUT}/secret-7")


@attack
def read_environment_of_another():
    return reads(f"/proc/{SCENE['victim']}/environ")


@attack
def read_memory_of_another():
    open(f"/proc/{SCENE['victim']}/mem", "rb").close()
    return True


@attack
def read_after_hard_link():
    os.link(f"{OUT}/secret-8", "hard-8")
    return reads("hard-8")


@attack
def read_journal():
    return reads(SCENE["journal"], "")


@attack
def read_tree_of_another_session():
    return reads(f"{SCENE['state']}/trees/other/secret-9")


@attack
def list_folder():
    descriptor = os.open(f"{OUT}/folder", os.O_RDONLY | os.O_DIRECTORY)
    return bool(os.listdir(descriptor))


@attack
def read_with_exchanged_link():
    """A link takes the place of a file between the look and the use."""
    stop = threading.Event()

    def exchange():
        while not stop.is_set():
            for make in (lambda: open("turn.new", "w").close(), lambda: os.symlink(f"{OUT}/secret-10", "turn.new")):
                make()
                os.rename("turn.new", "turn")

    open("turn", "w").close()
    thread = threading.Thread(target=exchange)
    thread.start()
    found = False
    for _ in range(3000):
        try:
            found = found or reads("turn")
        except OSError:
            pass
    stop.set()
    thread.join()
    return found


# --- writing


@attack
def write_by_whole_path():
    return writes(f"{OUT}/canary-1")


@attack
def write_startup_file():
    return writes(f"{HOME}/.bashrc")


@attack
def write_through_link():
    os.symlink(f"{OUT}/canary-2", "link-w2")
    return writes("link-w2")


@attack
def make_file_through_linked_folder():
    os.symlink(OUT, "link-w3")
    return writes("link-w3/made-3")


@attack
def make_folder():
    os.mkdir(f"{OUT}/made-4")
    return True


@attack
def remove_file():
    os.unlink(f"{OUT}/doomed-5")
    return True


@attack
def move_file():
    os.rename(f"{OUT}/doomed-6", f"{OUT}/moved-6")
    return True


@attack
def move_file_out():
    open("mine-7", "w").close()
    os.rename("mine-7", f"{OUT}/moved-7")
    return True


@attack
def change_mode():
    os.chmod(f"{OUT}/canary-8", 0o777)
    return True


@attack
def cut_file():
    os.truncate(f"{OUT}/canary-9", 0)
    return True


@attack
def make_link():
    os.symlink("/etc/passwd", f"{OUT}/made-10")
    return True


@attack
def write_git_config():
    return writes(".git/config")


@attack
def write_hook():
    return writes(".git/hooks/post-checkout")


@attack
def write_git_config_through_own_folder():
    return writes("/proc/self/cwd/.git/config")


@attack
def link_git_config():
    os.link(".git/config", "hard-config")
    return writes("hard-config")


@attack
def write_attributes():
    return writes(".git/info/attributes")


@attack
def exchange_repository():
    os.rename(".git", ".git-old")
    os.rename(".git-old", ".git")
    return True


@attack
def write_workspace_settings():
    return writes("baton.toml")


@attack
def write_workflow():
    return writes("job.toml")


@attack
def remove_policy():
    os.unlink("rules.toml")
    return True


@attack
def write_agent_settings():
    return writes(".claude/settings.json")


@attack
def exchange_agent_settings():
    os.rename(".claude", ".claude-old")
    os.rename(".claude-old", ".claude")
    return True


@attack
def write_servers_of_agents():
    return writes(".mcp.json")


# --- the network


def answers(connection):
    connection.settimeout(5)
    connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
    return b"the secret" in connection.recv(4096)


def by_proxy(host, port):
    """By the proxy that there is; without one, straight."""
    proxy = os.environ.get("HTTPS_PROXY")
    if not proxy:
        return answers(socket.create_connection((host, port), 5))
    at = urllib.parse.urlparse(proxy)
    connection = socket.create_connection((at.hostname, at.port), 5)
    name = f"[{host}]" if ":" in host else host
    connection.sendall(f"CONNECT {name}:{port} HTTP/1.1\r\n\r\n".encode())
    said = connection.recv(4096)
    return said.startswith(b"HTTP/1.1 200") and answers(connection)


@attack
def connect_to_loopback():
    return answers(socket.create_connection(("127.0.0.1", SCENE["tcp"]), 5))


@attack
def connect_to_loopback_by_another_address():
    return answers(socket.create_connection(("127.0.0.3", SCENE["tcp_any"]), 5))


@attack
def connect_to_loopback_v6():
    return answers(socket.create_connection(("::1", SCENE["tcp6"]), 5))


@attack
def send_datagram():
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.settimeout(2)
    udp.sendto(b"?", ("127.0.0.1", SCENE["udp"]))
    return b"the secret" in udp.recv(4096)


@attack
def ask_for_a_name():
    """As a resolver asks: a datagram on a socket that is connected."""
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.settimeout(2)
    udp.connect(("127.0.0.1", SCENE["udp_any"]))
    udp.send(b"?")
    return b"the secret" in udp.recv(4096)


@attack
def proxy_to_loopback():
    return by_proxy("127.0.0.1", SCENE["tcp"])


@attack
def proxy_to_a_name_of_loopback():
    return by_proxy("localhost", SCENE["tcp"])


@attack
def proxy_to_a_number():
    return by_proxy("2130706433", SCENE["tcp"])


@attack
def proxy_to_a_short_address():
    return by_proxy("127.1", SCENE["tcp"])


@attack
def proxy_to_a_mapped_address():
    return by_proxy("::ffff:127.0.0.1", SCENE["tcp"])


@attack
def proxy_by_plain_http():
    with urllib.request.urlopen(f"http://127.0.0.2:{SCENE['tcp_any']}/", timeout=5) as said:
        return b"the secret" in said.read()


@attack
def proxy_by_redirect():
    """The server is allowed, and leads on to one that is not."""
    with urllib.request.urlopen(f"http://127.0.0.1:{SCENE['allowed']}/", timeout=5) as said:
        return b"the secret" in said.read()


@attack
def connect_to_socket_file():
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(f"{OUT}/socket")
    return answers(connection)


@attack
def connect_to_abstract_socket():
    connection = socket.socket(socket.AF_UNIX)
    connection.connect("\0" + SCENE["abstract"])
    return answers(connection)


@attack
def connect_to_host():
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(5)
    path = SCENE["control"]
    folder = os.open(os.path.dirname(path), os.O_PATH)
    connection.connect(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
    connection.sendall(b'{"control":"status"}\n')
    return b"view" in connection.recv(4096)


# --- processes and the system


@attack
def signal_another():
    os.kill(SCENE["victim"], signal.SIGUSR1)
    return True


@attack
def open_another():
    os.close(os.pidfd_open(SCENE["victim"]))
    return True


@attack
def trace_another():
    libc = ctypes.CDLL(None, use_errno=True)
    attached = libc.ptrace(16, SCENE["victim"], None, None) == 0
    if attached:
        os.waitpid(SCENE["victim"], 0x40000000)
        libc.ptrace(17, SCENE["victim"], None, None)
    return attached


@attack
def enter_namespace_of_another():
    descriptor = os.open(f"/proc/{SCENE['victim']}/ns/uts", os.O_RDONLY)
    return ctypes.CDLL(None).setns(descriptor, 0) == 0


results = {}
for function in ATTACKS:
    try:
        results[function.__name__] = bool(function())
    except Exception as error:
        results[function.__name__] = f"{type(error).__name__}: {error}"
json.dump(results, open("results.json", "w"))
open("a.txt", "w").write("done\n")
print("Done: a")
