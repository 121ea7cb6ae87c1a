package queue

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestCreditCounts(t *testing.T) {
	now := time.Unix(1000, 0)
	var c credit
	c.asked(1, 10, now.Add(5*time.Second))
	c.asked(2, 5, now.Add(6*time.Second))
	for range 4 {
		c.delivered()
	}
	if c.owed != 11 {
		t.Fatalf("owed %d, want 11", c.owed)
	}
	c.returned(1, 7) // 3 of the first came, 1 of the second
	if c.owed != 4 {
		t.Errorf("after a 408: owed %d, want 4", c.owed)
	}
	c.returned(1, 7) // said twice
	c.returned(9, 1) // nobody's
	if c.owed != 4 {
		t.Errorf("after statuses that end nothing: owed %d, want 4", c.owed)
	}
	c.returned(2, -1) // 409 without a number: nothing is owed any more
	if c.owed != 0 {
		t.Errorf("after the last request: owed %d, want 0", c.owed)
	}
}

func TestCreditForgetsLostRequests(t *testing.T) {
	now := time.Unix(1000, 0)
	var c credit
	c.asked(1, 10, now.Add(5*time.Second))
	c.asked(2, 3, now.Add(8*time.Second))
	if lost := c.expire(now.Add(7 * time.Second)); lost != 0 || c.owed != 13 {
		t.Fatalf("within the grace: lost %d, owed %d", lost, c.owed)
	}
	if lost := c.expire(now.Add(7*time.Second + 1)); lost != 10 || c.owed != 3 {
		t.Errorf("the first is over: lost %d, owed %d; want 10 and 3", lost, c.owed)
	}
	for range 5 { // late ones of the first
		c.delivered()
	}
	if c.owed != 0 {
		t.Errorf("owed %d, want 0", c.owed)
	}
}

// TestCreditNeverBelowWhatTheServerOwes runs a model of a server that answers
// requests in turn, loses nothing and says how many it did not send.
func TestCreditNeverBelowWhatTheServerOwes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type request struct {
			token uint64
			left  int
		}
		var c credit
		var server []request
		var token uint64
		now := time.Unix(1000, 0)
		owes := func() (sum int) {
			for _, r := range server {
				sum += r.left
			}
			return sum
		}
		t.Repeat(map[string]func(*rapid.T){
			"ask": func(t *rapid.T) {
				token++
				n := rapid.IntRange(1, 20).Draw(t, "n")
				server = append(server, request{token, n})
				c.asked(token, n, now.Add(time.Second))
			},
			"deliver": func(t *rapid.T) {
				if len(server) == 0 {
					t.Skip("nothing asked")
				}
				at := rapid.IntRange(0, len(server)-1).Draw(t, "request")
				server[at].left--
				if server[at].left == 0 {
					server = append(server[:at], server[at+1:]...)
				}
				c.delivered()
			},
			"end": func(t *rapid.T) {
				if len(server) == 0 {
					t.Skip("nothing asked")
				}
				at := rapid.IntRange(0, len(server)-1).Draw(t, "request")
				c.returned(server[at].token, server[at].left)
				server = append(server[:at], server[at+1:]...)
			},
			"": func(t *rapid.T) {
				if c.owed != owes() {
					t.Fatalf("owed %d, the server owes %d", c.owed, owes())
				}
			},
		})
	})
}
