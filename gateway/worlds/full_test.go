package worlds

import (
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// fills has the store of NATS refuse every write for a while: what it may hold is less than it holds.
func (r *run) fills(f *fault) error {
	r.mu.Lock()
	s := r.server
	r.mu.Unlock()
	if s == nil {
		return errDown
	}
	limit := func(octets int64) error {
		account, err := s.LookupAccount(server.DEFAULT_GLOBAL_ACCOUNT)
		if err != nil {
			return err
		}
		return account.UpdateJetStreamLimits(map[string]server.JetStreamAccountLimits{
			"": {MaxMemory: -1, MaxStore: octets, MaxStreams: -1, MaxConsumers: -1, MaxAckPending: -1, MemoryMaxStreamBytes: -1, StoreMaxStreamBytes: -1},
		})
	}
	if err := limit(1); err != nil {
		return err
	}
	r.note("fault %v", f)
	time.Sleep(f.length)
	r.mu.Lock()
	same := r.server == s
	r.mu.Unlock()
	if !same {
		return nil // it was started again meanwhile, without the limit
	}
	r.note("ended %v", f)
	return limit(-1)
}
