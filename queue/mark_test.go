package queue

import (
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestMarkArithmetic(t *testing.T) {
	present := mark{Seq: 100, Done: 60, Doubt: 10, Epoch: "a", Users: 1}
	for name, tc := range map[string]struct{ got, want mark }{
		"first of all":               {mark{}.join("a", 0, 500), mark{Epoch: "a", Users: 1}},
		"one more":                   {present.join("a", 100, 500), mark{Seq: 100, Done: 60, Doubt: 10, Epoch: "a", Users: 2}},
		"after a restart":            {present.join("b", 100, 500), mark{Seq: 100, Done: 100, Doubt: 100, Epoch: "b", Users: 1}},
		"beyond what was published":  {present.join("b", 100, 70), mark{Seq: 70, Done: 70, Doubt: 70, Epoch: "b", Users: 1}},
		"raised":                     {present.raise(200), mark{Seq: 200, Done: 60, Doubt: 10, Epoch: "a", Users: 1}},
		"never lowered":              {present.raise(50), present},
		"the last leaves":            {present.leave("a", 80), mark{Seq: 80, Done: 80, Doubt: 10, Epoch: "a"}},
		"the last had less":          {present.leave("a", 20), mark{Seq: 60, Done: 60, Doubt: 10, Epoch: "a"}},
		"another stays":              {present.join("a", 0, 0).leave("a", 80), mark{Seq: 100, Done: 80, Doubt: 10, Epoch: "a", Users: 1}},
		"leaves what is over":        {present.leave("z", 80), present},
		"leaves what nobody is with": {mark{Seq: 7, Done: 7, Epoch: "a"}.leave("a", 80), mark{Seq: 7, Done: 7, Epoch: "a"}},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, tc.got, tc.want)
		}
	}
}

func TestStrideFollowsTheRate(t *testing.T) {
	now := time.Unix(1000, 0)
	var s stride
	step := func(after time.Duration, want uint64) {
		t.Helper()
		now = now.Add(after)
		if got := s.next(now); got != want {
			t.Errorf("after %v: block %d, want %d", after, got, want)
		}
	}
	step(0, 16)
	step(100*time.Millisecond, 32)
	step(500*time.Millisecond, 32)
	for want := uint64(64); want <= 1024; want *= 2 {
		step(10*time.Millisecond, want)
	}
	step(10*time.Millisecond, 1024)
	step(time.Second, 1024)
	step(time.Hour, 512)
	for range 10 {
		s.next(now.Add(time.Hour))
		now = now.Add(time.Hour)
	}
	step(time.Hour, 16)
}

// TestMarkIsNeverBelowWhatWasHandedOut lets intakes come, receive, leave and
// die, and the server restart, in any order.
func TestMarkIsNeverBelowWhatWasHandedOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const last = 1 << 20 // of the stream
		var (
			stored    mark
			users     []*laneMark
			epoch     = 1
			handedOut uint64
			before    uint64 // handed out when the server was last started
			now       = time.Unix(1000, 0)
		)
		join := func(m *laneMark) {
			name := strconv.Itoa(epoch)
			if m.epoch == name {
				return
			}
			stored = stored.join(name, m.reach(stored), last)
			m.epoch, m.stored = name, stored
		}
		some := func() *laneMark {
			if len(users) == 0 {
				t.Skip("nobody is there")
			}
			return users[rapid.IntRange(0, len(users)-1).Draw(t, "user")]
		}
		remove := func(gone *laneMark) {
			for i, m := range users {
				if m == gone {
					users = append(users[:i], users[i+1:]...)
					return
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"open": func(*rapid.T) {
				m := new(laneMark)
				join(m)
				users = append(users, m)
			},
			"receive": func(t *rapid.T) {
				m := some()
				join(m) // the message shows the server
				now = now.Add(time.Duration(rapid.IntRange(0, 2000).Draw(t, "ms")) * time.Millisecond)
				m.highest = handedOut + uint64(rapid.IntRange(1, 40).Draw(t, "gap"))
				for m.due() {
					target := m.highest + m.stride.next(now)
					stored = stored.raise(target)
					m.stored = stored
				}
				if !m.covers(m.highest) {
					t.Fatalf("message %d is not covered by %+v", m.highest, m.stored)
				}
				if m.stored.Seq > handedOut+40+2*blockMost {
					t.Fatalf("the mark %+v runs too far ahead of %d", m.stored, handedOut)
				}
				handedOut = m.highest
			},
			"leave": func(*rapid.T) {
				m := some()
				stored = stored.leave(m.epoch, m.highest)
				remove(m)
			},
			"die":     func(*rapid.T) { remove(some()) },
			"restart": func(*rapid.T) { epoch, before = epoch+1, handedOut },
			"": func(t *rapid.T) {
				if stored.Seq < handedOut {
					t.Fatalf("mark %+v, and %d was handed out", stored, handedOut)
				}
				if stored.Epoch == strconv.Itoa(epoch) && stored.Doubt < before {
					t.Fatalf("mark %+v, and %d was handed out before the restart", stored, before)
				}
			},
		})
	})
}
