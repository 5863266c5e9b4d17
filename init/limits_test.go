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
	session, ticks := parseStat("7 (a) b) 9 (c) R 1 7 5 0 -1 4194304 100 0 0 0 11 22 33 44 20 0 1 0 9\n")
	if session != 5 || ticks != 110 {
		t.Fatalf("got %d, %d", session, ticks)
	}
	if session, ticks := parseStat("nothing"); session != 0 || ticks != 0 {
		t.Fatalf("got %d, %d", session, ticks)
	}
}

func TestAPlaceWithRoomIsNotFull(t *testing.T) {
	if diskFull([]string{t.TempDir(), "/no such place"}) {
		t.Fatal("full")
	}
}
