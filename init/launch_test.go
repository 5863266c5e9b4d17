package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The test binary stands for drover-init where it launches programs.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == launchMode {
		launch(os.Args[2:])
	}
	os.Exit(m.Run())
}

// newRootHost is a host whose programs run as another user; the tests run as root, as in the image's build.
func newRootHost(t *testing.T) *host {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("the tests of changing users need root")
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	place, err := os.MkdirTemp("/tmp", "launcher")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(place) })
	launcher := filepath.Join(place, "launcher")
	file, err := os.OpenFile(launcher, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(file, self); err != nil {
		t.Fatal(err)
	}
	file.Close()
	credential := &syscall.Credential{Uid: programID, Gid: programID, Groups: []uint32{}}
	// One watcher reaps for all tests, and they come one after another.
	testProcesses.user = &programUser{credential, launcher}
	t.Cleanup(func() { testProcesses.user = nil })
	h := newHostOf(t, programID)
	// The program must get at its folder, and at the way there.
	for at := h.dir; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(place, programID, programID); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(place, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(h.dir, programID, programID); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *host) run(script string) {
	h.t.Helper()
	env := []string{"PATH=/bin:/usr/bin", "A=1"}
	h.send(frameRun, runRequest{Phase: "run", Argv: []string{"/bin/sh", "-c", script}, Env: env, Cwd: h.dir, DrainMs: 50})
}

func TestAProgramOfRootsIsAnotherUserWithoutGroupsAndCapabilities(t *testing.T) {
	h := newRootHost(t)
	h.run(`id -u; id -G; grep -E 'Cap(Prm|Eff|Inh|Amb)' /proc/self/status; ls /proc/self/fd | wc -l; echo "$A $0"; exit 3`)
	stdout, stderr, exit := h.finish()
	none := "0000000000000000\n"
	want := "65534\n65534\nCapInh:\t" + none + "CapPrm:\t" + none + "CapEff:\t" + none + "CapAmb:\t" + none + "4\n1 /bin/sh\n"
	if stdout != want || stderr != "" || exit.Code == nil || *exit.Code != 3 {
		t.Fatalf("%q %q %+v", stdout, stderr, exit)
	}
}

func TestItsStreamsAreItsOwnToOpenAgain(t *testing.T) {
	h := newRootHost(t)
	h.run(`cat /dev/stdin; echo out >/dev/stdout; echo err >/dev/stderr; echo fd >/proc/self/fd/1`)
	h.send(frameStdin, []byte("in\n"))
	h.send(frameStdinClose, nil)
	if stdout, stderr, exit := h.finish(); stdout != "in\nout\nfd\n" || stderr != "err\n" || *exit.Code != 0 {
		t.Fatalf("%q %q %+v", stdout, stderr, exit)
	}
}

func TestFilesAreTheProgramsAndItsPrivateOnesAreCollected(t *testing.T) {
	h := newRootHost(t)
	h.file("a/b/mine", "1", false)
	h.run(`umask 077; echo 2 >>a/b/mine; mkdir a/b/c; echo 3 >a/b/c/private; chmod 0 a/b/c/private; chmod 700 a/b/c; rm -f x`)
	if stdout, stderr, exit := h.finish(); stderr != "" || *exit.Code != 0 {
		t.Fatalf("%q %q %+v", stdout, stderr, exit)
	}
	h.send(frameCollect, collectRequest{MaxFiles: 10, MaxBytes: 1 << 20})
	changes := ""
	for {
		got, err := readFrame(h.from)
		if err != nil {
			t.Fatal(err)
		}
		if got.kind == frameChangesEnd {
			break
		}
		changes += string(got.payload)
	}
	for _, part := range []string{`"path":"a/b/mine"`, "12\n", `"path":"a/b/c/private"`, "3\n"} {
		if !strings.Contains(changes, part) {
			t.Fatalf("%s is not in %s", part, changes)
		}
	}
	h.send(frameDelete, deleteRequest{Path: "a/b/c/private"})
	h.file("a/b/c/new", "4", false)
	h.run("cat a/b/c/new; ls a/b/c")
	if stdout, _, _ := h.finish(); stdout != "4new\n" {
		t.Fatalf("%q", stdout)
	}
}

func TestAProgramThatIsNotThereIsSaidSo(t *testing.T) {
	h := newRootHost(t)
	h.send(frameRun, runRequest{Phase: "run", Argv: []string{"/no/such"}, Cwd: h.dir})
	if _, _, exit := h.finish(); exit.Error != syscall.ENOENT.Error() {
		t.Fatalf("%+v", exit)
	}
	h.send(frameRun, runRequest{ID: 4, Phase: "run", Argv: []string{"/no/such"}, Cwd: h.dir})
	if _, _, exit := h.finish(); exit.Error != syscall.ENOENT.Error() || exit.ID != 4 {
		t.Fatalf("%+v", exit)
	}
	h.run("echo fine")
	if stdout, _, _ := h.finish(); stdout != "fine\n" {
		t.Fatalf("%q", stdout)
	}
}

func TestCommandsOfAnotherUserRunBesideEachOther(t *testing.T) {
	h := newRootHost(t)
	h.command(1, "while [ ! -e go ]; do sleep 0.01; done; id -u")
	h.command(2, "touch go; echo two >&2")
	if output, _ := h.exits(1, 2); output["out1"] != "65534\n" || output["err2"] != "two\n" {
		t.Fatalf("%q", output)
	}
}

func TestOnlyPipesAreTakenForStreams(t *testing.T) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(pair[0])
	null, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	for _, fds := range [][]int{
		{int(write.Fd()), int(read.Fd()), int(null.Fd())},
		{int(read.Fd()), int(read.Fd()), int(read.Fd())},
		{int(write.Fd()), int(read.Fd())},
		{},
	} {
		if err := syscall.Sendmsg(pair[1], []byte{0}, syscall.UnixRights(fds...), nil, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := receiveStreams(pair[0]); err != errLaunch {
			t.Fatalf("%v: %v", fds, err)
		}
	}
	syscall.Close(pair[1])
	if _, err := receiveStreams(pair[0]); err != errLaunch {
		t.Fatal(err)
	}
}
