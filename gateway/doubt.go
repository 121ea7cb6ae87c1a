package gateway

import (
	"context"
	"sync"
	"time"
)

// When an account counts as silent, and how its unknown outcomes are resent then.
const (
	silenceOver    = 50          // submits that are looked back on
	silenceMost    = 10          // of them may go unanswered: 20 %
	silenceSpacing = time.Minute // between two resends while it lasts
	// silencePark is how long a message is put back at most while it lasts. When it has ended, what was put back comes
	// at once, and goes out at the pace that there is then: half of longestPark leaves time for that.
	silencePark = longestPark / 2
)

// silence watches how many of an account's last submits went unanswered. An SMSC that swallows what it is sent, and
// may deliver it all the same, is not sent everything twice: what has an unknown outcome is resent one at a time, until
// one of these is answered.
type silence struct {
	mu         sync.Mutex
	recent     [silenceOver]bool // true: unanswered; a ring
	next       int
	unanswered int
	resent     time.Time // when the last one was resent while it lasts
}

// heard notes one submit. An answer to a message that was resent ends the silence.
func (s *silence) heard(answered, resent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if answered && resent {
		s.recent, s.unanswered, s.resent = [silenceOver]bool{}, 0, time.Time{}
		return
	}
	if s.recent[s.next] {
		s.unanswered--
	}
	s.recent[s.next] = !answered
	if !answered {
		s.unanswered++
	}
	s.next = (s.next + 1) % silenceOver
}

// mayResend says whether a message with an unknown outcome may be sent again now, and else when to ask again. Saying
// yes uses the turn.
func (s *silence) mayResend(now time.Time) (ok bool, again time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unanswered <= silenceMost {
		return true, time.Time{}
	}
	if again = s.resent.Add(silenceSpacing); now.Before(again) {
		return false, again
	}
	s.resent = now
	return true, time.Time{}
}

// suspects lets one message at a time go that was in flight when a session ended: should it be the one that makes the
// SMSC hang up, it takes no other suspect with it a second time. The zero value works.
type suspects struct {
	once sync.Once
	turn chan struct{}
}

// enter waits for the turn; leave must follow a nil error.
func (s *suspects) enter(ctx context.Context) error {
	s.once.Do(func() { s.turn = make(chan struct{}, 1) })
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *suspects) leave() { <-s.turn }
