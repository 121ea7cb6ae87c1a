package worlds

import (
	"os"
	"slices"
	"time"
)

// rollsBack copies the store of NATS while it is down. Some seconds later power fails: the gateways die, and NATS starts
// on that copy. What it confirmed meanwhile, it has forgotten, and the sequences are given away again.
func (r *run) rollsBack(f *fault) error {
	older := r.dir + "-older"
	r.shutdown()
	r.mu.Lock()
	f.struck = time.Now()
	r.mu.Unlock()
	if err := os.CopyFS(older, os.DirFS(r.dir)); err != nil {
		return err
	}
	r.up()
	time.Sleep(f.length)
	r.note("fault %v", f)
	r.mu.Lock()
	present := slices.Clone(r.instances)
	r.mu.Unlock()
	for _, i := range present {
		r.fence(i, f)
	}
	r.shutdown()
	if err := os.RemoveAll(r.dir); err != nil {
		return err
	}
	if err := os.Rename(older, r.dir); err != nil {
		return err
	}
	r.up()
	return nil
}

// rolledBack says that NATS has forgotten a part of what it confirmed.
func (r *run) rolledBack() bool {
	return slices.ContainsFunc(r.faults, func(f *fault) bool { return f.kind == rollback })
}

// within says whether a time is in what NATS has forgotten, or so shortly before that it was still being written.
func (r *run) within(at time.Time) bool {
	return slices.ContainsFunc(r.faults, func(f *fault) bool {
		return f.kind == rollback && at.After(f.struck.Add(-forgottenBefore)) && at.Before(f.ended)
	})
}

// forgottenBefore is how long before the copy something may have been under way that was lost with it.
const forgottenBefore = 30 * time.Second

// undone says that NATS has forgotten the message, or what became of it: no promise holds for that.
func (r *run) undone(s *story) bool {
	if r.within(r.taken[s.message.ID]) {
		return true
	}
	return slices.ContainsFunc(r.sent, func(sent sending) bool { return sent.destination == s.message.To[1:] && r.within(sent.at) })
}
