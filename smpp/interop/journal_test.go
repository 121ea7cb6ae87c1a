//go:build interop

package interop

import (
	"context"
	"sync"
	"testing"
	"time"
)

// patience bounds every wait. Nothing takes this long; it is for a busy machine.
const patience = 30 * time.Second

// record is a PDU as a foreign library read it.
type record struct {
	Command          string `json:"command"`
	Status           uint32 `json:"command_status"`
	Sequence         uint32 `json:"sequence_number"`
	SystemID         string `json:"system_id"`
	Password         string `json:"password"`
	InterfaceVersion uint8  `json:"interface_version"`
	MessageID        string `json:"message_id"`
	message
}

// journal is what a peer read and nobody has asked for yet.
type journal struct {
	mu      sync.Mutex
	records []record
	ended   error         // the peer will say no more
	news    chan struct{} // closed at the next change
}

func newJournal() *journal { return &journal{news: make(chan struct{})} }

func (j *journal) add(r record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.records = append(j.records, r)
	j.tell()
}

func (j *journal) end(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended = err
	j.tell()
}

func (j *journal) tell() {
	close(j.news)
	j.news = make(chan struct{})
}

// take waits for a PDU and takes out the oldest one of that name.
func (j *journal) take(t *testing.T, command string) record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		r, found, news, ended := j.find(command)
		if found {
			return r
		}
		if ended != nil {
			t.Fatalf("waiting for %s: %v; the peer read %s", command, ended, j.rest())
		}
		select {
		case <-news:
		case <-ctx.Done():
			t.Fatalf("the peer read no %s within %s, but %s", command, patience, j.rest())
		}
	}
}

func (j *journal) find(command string) (r record, found bool, news <-chan struct{}, ended error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, r := range j.records {
		if r.Command == command {
			j.records = append(j.records[:i:i], j.records[i+1:]...)
			return r, true, nil, nil
		}
	}
	return record{}, false, j.news, j.ended
}

// rest names what was not taken.
func (j *journal) rest() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	names := []string{}
	for _, r := range j.records {
		names = append(names, r.Command+" "+r.Text)
	}
	return names
}
