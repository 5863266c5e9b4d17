package main

import (
	"encoding/json"
	"errors"
	"io"
	"syscall"
)

// controller obeys one host: requests come one after another, a phase runs beside them so that
// input and signals reach it.
type controller struct {
	space *workspace
	procs *processes
	out   *frameWriter
	phase *phase
	// commands are the phases of a session by their id.
	commands map[uint32]*phase
}

// serve returns nil after SHUTDOWN and an error when the host went away or broke the protocol; the
// process then exits, and as it is process 1 everything in the container ends with it.
func (c *controller) serve(in io.Reader) error {
	if err := c.out.report(frameReady, readyReport{Protocol: 1}); err != nil {
		return err
	}
	for {
		request, err := readFrame(in)
		if err != nil {
			return err
		}
		if request.kind == frameShutdown {
			return c.out.write(frameDone, nil)
		}
		if err := c.handle(request); err != nil {
			return err
		}
	}
}

func (c *controller) handle(request frame) error {
	switch request.kind {
	case frameFile, frameFileData, frameRun, frameCollect, frameDelete, frameSettle:
		if c.running() {
			return c.refuse("BUSY", "a phase is running")
		}
		return c.handleIdle(request)
	case frameStdin:
		return c.input(request.payload)
	case frameStdinClose:
		return c.input(nil)
	case frameKill:
		var kill killRequest
		if err := json.Unmarshal(request.payload, &kill); err != nil {
			return err
		}
		if kill.ID == 0 {
			c.procs.signal(syscall.Signal(kill.Signal))
		} else if ph := c.command(kill.ID); ph != nil {
			ph.kill(syscall.Signal(kill.Signal))
		}
		return nil
	case frameInput:
		return c.inputOf(request.payload, false)
	case frameInputClose:
		return c.inputOf(request.payload, true)
	case framePause:
		c.procs.pause()
		return nil
	case frameResume:
		c.procs.resume()
		return nil
	}
	return errors.New("unknown frame type")
}

func (c *controller) handleIdle(request frame) error {
	switch request.kind {
	case frameFile:
		var header fileHeader
		if err := json.Unmarshal(request.payload, &header); err != nil {
			return err
		}
		return c.refuseFile(c.space.begin(header))
	case frameFileData:
		return c.refuseFile(c.space.data(request.payload))
	case frameDelete:
		var gone deleteRequest
		if err := json.Unmarshal(request.payload, &gone); err != nil {
			return err
		}
		return c.refuseFile(c.space.delete(gone.Path))
	case frameSettle:
		return c.out.write(frameSettled, nil)
	case frameRun:
		return c.run(request.payload)
	case frameCollect:
		var limits collectRequest
		if err := json.Unmarshal(request.payload, &limits); err != nil {
			return err
		}
		return c.space.collect(limits, c.out)
	}
	return nil
}

func (c *controller) run(payload []byte) error {
	var request runRequest
	if err := json.Unmarshal(payload, &request); err != nil {
		return err
	}
	if len(request.Argv) == 0 {
		return c.refuse("BAD_REQUEST", "argv is empty")
	}
	if request.ID != 0 {
		return c.runBeside(request)
	}
	started, err := startPhase(request, c.procs, c.out)
	c.phase = started
	return err
}

func (c *controller) running() bool {
	if c.phase == nil {
		return false
	}
	select {
	case <-c.phase.over:
		c.phase = nil
		return false
	default:
		return true
	}
}

// input drops what comes for a phase that is over. The window is the host's promise; a host that
// breaks it is refused, because waiting here would hold up KILL.
func (c *controller) input(payload []byte) error {
	if !c.running() {
		if payload == nil {
			return nil
		}
		return c.out.write(frameStdinAck, nil)
	}
	select {
	case c.phase.stdin <- payload:
		return nil
	default:
		return errors.New("input window exceeded")
	}
}

func (c *controller) refuse(reason, message string) error {
	return c.out.report(frameFault, faultReport{Reason: reason, Message: message})
}

// refuseFile tells of a file that yields and goes on. Any other cause ends the session: the bytes that follow would
// have no place.
func (c *controller) refuseFile(cause error) error {
	if cause == nil {
		return nil
	}
	var refused *refusal
	if errors.As(cause, &refused) && refused.yields {
		return c.out.report(frameRefused, refusedReport{Path: refused.path, Reason: refused.reason()})
	}
	reason := "BAD_FILE"
	if refused != nil && refused.reason() == noRoom {
		reason = "WORKSPACE_FULL"
	}
	if err := c.refuse(reason, cause.Error()); err != nil {
		return err
	}
	return cause
}
