#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests scripts/setup and scripts/run-in-env from the outside, in the environment that scripts/setup has made."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
RUN = CHECKOUT / "scripts" / "run-in-env"
SETUP = CHECKOUT / "scripts" / "setup"
WHERE = subprocess.run([SETUP, "--where"], check=True, capture_output=True, text=True, timeout=60).stdout.strip()
TIMEOUT = 60


def run(*command, script=RUN, **kwargs):
    kwargs.setdefault("cwd", CHECKOUT)
    return subprocess.run([script, *command], capture_output=True, text=True, timeout=TIMEOUT, **kwargs)


def mounts():
    return pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8")


def copy_of_scripts(folder):
    """A second checkout, as far as these scripts care."""
    copy = pathlib.Path(folder).resolve() / "checkout"
    copy.mkdir()
    shutil.copytree(CHECKOUT / "scripts", copy / "scripts")
    return copy


def default_signals():
    """What a test sends must end the command, also when this test runs in the background or under nohup."""
    for sig in (signal.SIGINT, signal.SIGHUP):
        signal.signal(sig, signal.SIG_DFL)


class Started:
    """A command in the environment that has reported, through its first line, that it runs."""

    def __init__(self, *command, script=RUN, cwd=CHECKOUT):
        self.process = subprocess.Popen(
            [script, *command], cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            preexec_fn=default_signals,
        )
        self.first_line = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=TIMEOUT)


class RunInEnv(unittest.TestCase):
    def test_keeps_the_exit_status(self):
        for status in (0, 1, 37, 255):
            self.assertEqual(run("sh", "-c", f"exit {status}").returncode, status)
        self.assertEqual(run("no-such-command").returncode, 127)
        self.assertEqual(run("/etc/passwd").returncode, 126)

    def test_a_command_that_dies_of_a_signal_is_seen_to_die_of_it(self):
        self.assertEqual(run("sh", "-c", "kill -KILL $$").returncode, -signal.SIGKILL)

    def test_signals_reach_the_command(self):
        for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            with self.subTest(sig=sig), Started("sh", "-c", "echo up; exec sleep 50") as started:
                started.process.send_signal(sig)
                self.assertEqual(started.process.wait(timeout=TIMEOUT), -sig)

    def test_the_command_may_handle_a_signal_itself(self):
        script = "trap 'exit 5' TERM; echo up; while :; do sleep 0.05; done"
        with Started("bash", "-c", script) as started:
            started.process.terminate()
            self.assertEqual(started.process.wait(timeout=TIMEOUT), 5)

    def test_arguments_and_standard_input_arrive_unchanged(self):
        arguments = ["", "two words", "*", "$HOME", "a\nb", "--", "-x"]
        result = run("python3", "-c", "import sys; print(sys.argv[1:], sys.stdin.read())", *arguments, input="in\nput")
        self.assertEqual(result.stdout, f"{arguments} in\nput\n")

    def test_stays_in_the_working_directory_inside_the_checkout(self):
        self.assertEqual(run("pwd", cwd=CHECKOUT / "scripts" / "lib").stdout.strip(), str(CHECKOUT / "scripts" / "lib"))

    def test_a_nested_call_is_plain(self):
        self.assertEqual(run(RUN, "sh", "-c", "exit 9").returncode, 9)

    def test_says_what_the_machine_allows(self):
        found = dict(line.split("=", 1) for line in run("env").stdout.splitlines() if line.startswith("HOLDFAST_HAVE_"))
        self.assertEqual(set(found), {f"HOLDFAST_HAVE_{what}" for what in ("ROOT", "NETNS", "TUN", "HUGEPAGES")})
        self.assertLessEqual(set(found.values()), {"0", "1"})

    def test_something_missing_is_said_and_fails_in_ci_only(self):
        probe = "source scripts/lib/common.sh; source scripts/lib/probe.sh; hf_probe_tun() { echo 'tun: planted'; }; hf_probe"
        for ci, status in (("true", 1), ("", 0)):
            result = subprocess.run(
                ["bash", "-ec", f"{probe}; echo $HOLDFAST_HAVE_TUN"], cwd=CHECKOUT, capture_output=True, text=True,
                timeout=TIMEOUT, env={**os.environ, "CI": ci},
            )
            self.assertEqual(result.returncode, status, result.stderr)
            self.assertIn("not available here: tun: planted", result.stderr)
            self.assertEqual(result.stdout, "0\n" if status == 0 else "")

    def test_has_the_tools(self):
        result = run("bash", "-c", "pkg-config --modversion libdpdk && command -v g++ cmake ninja dpdk-testpmd dpdk-pmdinfo.py")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(len(result.stdout.splitlines()), 6)

    def test_namespaces_work_in_one_command(self):
        name = f"holdfast{os.getpid()}"
        script = f"""
            set -e
            trap 'ip netns del {name}' EXIT
            ip netns add {name}
            ip -n {name} link add name veth0 type veth peer name veth1
            ip netns exec {name} ls /sys/class/net"""
        result = run("bash", "-c", script)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.split(), ["lo", "veth0", "veth1"])


class Setup(unittest.TestCase):
    def test_a_second_run_does_nothing_and_says_so(self):
        started = time.monotonic()
        result = run(script=SETUP)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("holdfast: ready: ", result.stderr)
        self.assertLess(time.monotonic() - started, 30)

    def test_an_unknown_argument_is_an_error(self):
        result = run("--nonsense", script=SETUP)
        self.assertEqual(result.returncode, 1)
        self.assertIn("--nonsense", result.stderr)

    def test_a_suite_without_a_usable_name_is_an_error(self):
        for arguments in (["--suite"], ["--suite", ""], ["--suite", "../x"], ["--suite", "--where"]):
            with self.subTest(arguments=arguments):
                result = run(*arguments, script=SETUP)
                self.assertEqual(result.returncode, 1)
                self.assertIn("needs the name of a Debian release", result.stderr)


class DebianRoot(unittest.TestCase):
    """Where the environment is a root of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="holdfast-env-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_nothing_is_mounted_outside_while_a_command_runs_or_after(self):
        before = mounts()
        with Started("sh", "-c", "echo up; read line") as started:
            self.assertEqual(mounts(), before)
            self.assertEqual(list(pathlib.Path(WHERE, "proc").iterdir()), [])
            self.assertEqual(list(pathlib.Path(f"{WHERE}{CHECKOUT}").iterdir()), [])
            started.process.communicate("\n", timeout=TIMEOUT)
        self.assertEqual(mounts(), before)

    def test_a_killed_command_leaves_nothing_mounted(self):
        before = mounts()
        with Started("sh", "-c", "echo up; exec sleep 50") as started:
            started.process.kill()
            started.process.wait(timeout=TIMEOUT)
        self.assertEqual(mounts(), before)

    def test_a_namespace_that_is_left_behind_leaves_nothing_on_the_host(self):
        name = f"holdfast{os.getpid()}"
        before = sorted(os.listdir("/run"))
        result = run("sh", "-c", f"ip netns add {name} && ip netns list")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(name, result.stdout)
        self.assertEqual(sorted(os.listdir("/run")), before)
        self.assertFalse(pathlib.Path("/run/netns", name).exists())
        self.assertNotIn(name, run("ip", "netns", "list").stdout)

    def test_sys_shows_the_callers_network_namespace(self):
        result = subprocess.run(
            ["unshare", "--net", RUN, "ls", "/sys/class/net"], cwd=CHECKOUT, capture_output=True, text=True, timeout=TIMEOUT,
        )
        self.assertEqual(result.stdout.split(), ["lo"], result.stderr)

    def test_from_outside_a_command_starts_in_the_checkout(self):
        self.assertEqual(run("pwd", cwd="/").stdout.strip(), str(CHECKOUT))

    def test_two_checkouts_run_side_by_side_and_do_not_see_each_other(self):
        copy = copy_of_scripts(self.folder)
        look = f"pwd; read line; ls {CHECKOUT} {copy} 2>/dev/null | grep -c run-in-env; ls -d {CHECKOUT}/scripts {copy}/scripts 2>/dev/null"
        with Started("sh", "-c", look) as ours, \
                Started("sh", "-c", look, script=copy / "scripts" / "run-in-env", cwd=copy) as theirs:
            self.assertEqual((ours.first_line, theirs.first_line), (str(CHECKOUT), str(copy)))
            for started, own in ((ours, CHECKOUT), (theirs, copy)):
                seen = started.process.communicate("\n", timeout=TIMEOUT)[0].split()
                self.assertEqual(seen[1:], [str(own / "scripts")])

    def test_a_changed_package_list_means_another_root(self):
        copy = copy_of_scripts(self.folder)
        where = lambda: run("--where", script=copy / "scripts" / "setup").stdout.strip()
        self.assertEqual(where(), WHERE)
        with open(copy / "scripts" / "lib" / "packages", "a", encoding="utf-8") as packages:
            packages.write("\n# a comment changes nothing\n")
        self.assertEqual(where(), WHERE)
        with open(copy / "scripts" / "lib" / "packages", "a", encoding="utf-8") as packages:
            packages.write("hello\n")
        self.assertNotEqual(where(), WHERE)
        self.assertIn("run scripts/setup", run("true", script=copy / "scripts" / "run-in-env").stderr)

    def test_another_suite_means_another_root(self):
        other = run("--suite", "sid", "--where", script=SETUP)
        self.assertEqual(other.returncode, 0, other.stderr)
        self.assertEqual(pathlib.Path(other.stdout.strip()).parent, pathlib.Path(WHERE).parent)
        self.assertTrue(pathlib.Path(other.stdout.strip()).name.startswith("sid-"), other.stdout)
        by_variable = run("--where", script=SETUP, env={**os.environ, "HOLDFAST_SUITE": "sid"})
        self.assertEqual(by_variable.stdout, other.stdout)
        result = run("--suite", "sid", "true")
        self.assertEqual(result.returncode, 1)
        self.assertIn("run scripts/setup --suite sid", result.stderr)

    def test_inside_one_suite_another_is_refused(self):
        result = run("scripts/build", "--suite", "sid")
        self.assertEqual(result.returncode, 1)
        self.assertIn("already inside", result.stderr)

    def test_a_root_inside_the_checkout_is_refused(self):
        result = run("--where", script=SETUP, env={**os.environ, "HOLDFAST_ROOT": str(CHECKOUT / "build")})
        self.assertEqual(result.returncode, 1)
        self.assertIn("inside the checkout", result.stderr)

    def test_a_root_in_use_is_not_removed(self):
        with Started("sh", "-c", "echo up; read line") as started:
            result = run("--remove", script=SETUP)
            self.assertEqual(result.returncode, 1)
            self.assertIn("is in use", result.stderr)
            started.process.communicate("\n", timeout=TIMEOUT)
        self.assertEqual(run("true").returncode, 0)

    def test_removing_a_tree_reaches_nothing_that_is_mounted_below_it(self):
        tree, precious = pathlib.Path(self.folder, "tree"), pathlib.Path(self.folder, "precious")
        (tree / "inside").mkdir(parents=True)
        precious.mkdir()
        (precious / "file").touch()
        script = f"""
            mount --bind {precious} {tree}/inside
            source scripts/lib/common.sh
            hf_remove_tree {tree}"""
        command = ["unshare", "--mount", "--propagation", "private", "bash", "-ec", script]
        result = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=TIMEOUT)
        self.assertEqual(result.returncode, 1)
        self.assertIn("is mounted below", result.stderr)
        self.assertTrue((precious / "file").exists())
        # The mount went with its namespace, so now the tree can go.
        subprocess.run(["bash", "-ec", f"source scripts/lib/common.sh; hf_remove_tree {tree}"],
                       cwd=CHECKOUT, check=True, timeout=TIMEOUT)
        self.assertFalse(tree.exists())
        self.assertTrue((precious / "file").exists())


def load_tests(loader, _tests, _pattern):
    classes = [RunInEnv, Setup] + ([] if WHERE == "native" else [DebianRoot])
    return unittest.TestSuite(loader.loadTestsFromTestCase(c) for c in classes)


if __name__ == "__main__":
    unittest.main(verbosity=2)
