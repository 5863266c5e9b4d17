package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"sync"
)

// Frames of both directions are [type u8][length u32 big-endian][payload]. Control payloads are
// JSON, data payloads are raw bytes.
const (
	frameFile       = 0x01 // in: a file follows; fileHeader
	frameFileData   = 0x02 // in: bytes of the file announced last
	frameRun        = 0x03 // in: start a phase; runRequest
	frameStdin      = 0x04 // in: bytes for the program; at most stdinWindow unacknowledged
	frameStdinClose = 0x05 // in: end of the program's input
	frameKill       = 0x06 // in: signal to the phase; killRequest
	frameCollect    = 0x07 // in: report the changes of the workspace; collectRequest
	frameShutdown   = 0x08 // in: answer DONE and exit

	// Session mode: phases with an id run beside each other, and files move while they run.
	frameDelete     = 0x21 // in: remove a file; deleteRequest
	framePause      = 0x22 // in: stop every process, so that files can be moved
	frameResume     = 0x23 // in: let them go on
	frameInput      = 0x24 // in: [id u32][bytes] for one phase; window as for STDIN
	frameInputClose = 0x25 // in: [id u32]
	frameSettle     = 0x26 // in: answer SETTLED when all files before are in place or refused

	frameReady      = 0x81 // out: first frame; readyReport
	frameStarted    = 0x82 // out: the phase's program runs; startedReport
	frameStdout     = 0x83 // out: raw
	frameStderr     = 0x84 // out: raw
	frameExit       = 0x85 // out: the phase is over and nothing of it runs; exitReport
	frameChange     = 0x86 // out: one change; for "put" its bytes follow; changeReport
	frameChangeData = 0x87 // out: bytes of the change announced last
	frameChangesEnd = 0x88 // out: end of the change set; changesEndReport
	frameDone       = 0x89 // out: last frame
	frameFault      = 0x8a // out: the last request was refused; faultReport
	frameStdinAck   = 0x8b // out: one STDIN frame was taken by the program or dropped

	frameTaggedStdout = 0xa1 // out: [id u32][bytes]
	frameTaggedStderr = 0xa2 // out: [id u32][bytes]
	frameInputAck     = 0xa3 // out: [id u32]; one INPUT frame was taken or dropped
	frameRefused      = 0xa4 // out: a file that yields, or a DELETE, was left out; refusedReport
	frameSettled      = 0xa5 // out: answer to SETTLE
)

const (
	maxPayload  = 1 << 20
	dataChunk   = 32 << 10
	stdinWindow = 8
)

var errFrameTooLarge = errors.New("frame is larger than 1 MiB")

type frame struct {
	kind    byte
	payload []byte
}

// readFrame returns io.EOF only at a frame border; a cut frame is io.ErrUnexpectedEOF.
func readFrame(r io.Reader) (frame, error) {
	var header [5]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return frame{}, err
	}
	size := binary.BigEndian.Uint32(header[1:])
	if size > maxPayload {
		return frame{}, errFrameTooLarge
	}
	payload := make([]byte, size)
	if _, err := io.ReadFull(r, payload); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return frame{}, err
	}
	return frame{header[0], payload}, nil
}

// frameWriter serialises frames of several goroutines. A write blocks while nobody reads, which is
// how a slow reader slows the program down.
type frameWriter struct {
	mutex sync.Mutex
	out   io.Writer
	buf   [5 + dataChunk]byte
}

func (w *frameWriter) write(kind byte, payload []byte) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for {
		part := payload[:min(len(payload), dataChunk)]
		w.buf[0] = kind
		binary.BigEndian.PutUint32(w.buf[1:5], uint32(len(part)))
		n := copy(w.buf[5:], part)
		if _, err := w.out.Write(w.buf[:5+n]); err != nil {
			return err
		}
		payload = payload[len(part):]
		if len(payload) == 0 {
			return nil
		}
	}
}

// report writes a control frame. Control payloads are bounded by their makers (paths of at most
// 1,024 bytes), so one always fits one frame.
func (w *frameWriter) report(kind byte, value any) error {
	payload, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return w.write(kind, payload)
}

type readyReport struct {
	Protocol int `json:"protocol"`
}

type startedReport struct {
	ID    uint32 `json:"id,omitempty"`
	Phase string `json:"phase"`
}

type faultReport struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

type refusedReport struct {
	Path string `json:"path"`
	// Reason is "NO_ROOM", "FORBIDDEN" or "IN_THE_WAY".
	Reason string `json:"reason"`
}
