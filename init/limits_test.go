package main

import (
	"testing"
	"time"
)

func TestCPUTimeEndsAProgramAndAllItStarted(t *testing.T) {
	h := newHost(t)
	began := time.Now()
	h.send(frameRun, runRequest{Phase: "run", Argv: []string{"/bin/sh", "-c", "(while :; do :; done) & while :; do :; done"}, Cwd: "/", CPUMillis: 300})
	_, _, exit := h.finish()
	if !exit.CPUExceeded || exit.Signal == nil || *exit.Signal != 9 {
		t.Fatalf("got %+v", exit)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Fatalf("it took %v", took)
	}
}

func TestCPUTimeIsNotWallTime(t *testing.T) {
	h := newHost(t)
	h.send(frameRun, runRequest{Phase: "run", Argv: []string{"/bin/sh", "-c", "sleep 0.6"}, Cwd: "/", CPUMillis: 200})
	if _, _, exit := h.finish(); exit.CPUExceeded || exit.Code == nil || *exit.Code != 0 {
		t.Fatalf("got %+v", exit)
	}
}

func TestStatIsReadBehindAnyName(t *testing.T) {
	s, ok := parseStat("7 (a) b) 9 (c) R 1 7 5 0 -1 4194304 100 0 0 0 11 22 33 44 20 0 3 0 9\n")
	if !ok || s != (processStat{state: 'R', parent: 1, session: 5, ticks: 110, threads: 3}) {
		t.Fatalf("got %+v", s)
	}
	if s, ok := parseStat("nothing"); ok {
		t.Fatalf("got %+v", s)
	}
}

func TestAZombieWithThreadsIsAlive(t *testing.T) {
	for state, want := range map[processStat]bool{
		{state: 'S', threads: 1}: true, {state: 'Z', threads: 1}: false, {state: 'Z', threads: 2}: true,
	} {
		if state.alive() != want {
			t.Fatalf("%+v", state)
		}
	}
}

func TestCPUTimeEndsItsCommandAlone(t *testing.T) {
	h := newHost(t)
	h.command(1, "read line; echo $line")
	h.send(frameRun, runRequest{ID: 2, Phase: "command", Argv: []string{"/bin/sh", "-c", "(while :; do :; done) & while :; do :; done"}, Cwd: h.dir, CPUMillis: 300})
	if _, ended := h.exits(2); !ended[2].CPUExceeded || ended[2].Signal == nil || *ended[2].Signal != 9 {
		t.Fatalf("%+v", ended)
	}
	h.send(frameInput, tagged(1, "lives\n"))
	if output, ended := h.exits(1); output["out1"] != "lives\n" || ended[1].CPUExceeded {
		t.Fatalf("%q %+v", output, ended)
	}
}

func TestCPUTimeOfShortLivedChildrenCounts(t *testing.T) {
	h := newHost(t)
	burn := "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
	h.send(frameRun, runRequest{ID: 1, Phase: "command", Argv: []string{"/bin/sh", "-c", "while :; do (" + burn + "); done"}, Cwd: h.dir, CPUMillis: 400})
	if _, ended := h.exits(1); !ended[1].CPUExceeded {
		t.Fatalf("%+v", ended)
	}
}

func TestCPUTimeOfAnotherCommandDoesNotCount(t *testing.T) {
	h := newHost(t)
	h.command(1, "while [ ! -e stop ]; do :; done")
	h.send(frameRun, runRequest{ID: 2, Phase: "command", Argv: []string{"/bin/sh", "-c", "sleep 1; : >stop"}, Env: []string{"PATH=/bin:/usr/bin"}, Cwd: h.dir, CPUMillis: 200})
	if _, ended := h.exits(1, 2); ended[2].CPUExceeded || ended[2].Code == nil {
		t.Fatalf("%+v", ended)
	}
}

func TestAPlaceWithRoomIsNotFull(t *testing.T) {
	if diskFull([]string{t.TempDir(), "/no such place"}) {
		t.Fatal("full")
	}
}
