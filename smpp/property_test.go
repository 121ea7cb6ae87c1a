package smpp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"sluice/smpp/pdu"
)

// TestEveryRequestIsAnsweredExactlyOnce plays any order of submits, answers,
// duplicates, generic_nacks, foreign responses, cancels, waiting, unbinds from
// both sides, and ends of the connection, and holds each submit to its verdict:
// one answer, its own; ErrNotSent only for what the peer never saw; a late
// response at most once and only for what was given up.
func TestEveryRequestIsAnsweredExactlyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(noDeadline{t}, func(rt *rapid.T) { newGame(t, rt).play(rt) })
	})
}

// noDeadline keeps rapid from asking for the deadline of the test, which a
// bubble does not have.
type noDeadline struct{ *testing.T }

// tap is a connection that can be kept from reading.
type tap struct {
	net.Conn
	mu    sync.Mutex
	flows chan struct{} // closed while it may read
}

func (c *tap) Read(b []byte) (int, error) {
	c.mu.Lock()
	flows := c.flows
	c.mu.Unlock()
	<-flows
	return c.Conn.Read(b)
}

func (c *tap) shut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.flows:
		c.flows = make(chan struct{})
	default:
	}
}

func (c *tap) open() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.flows:
	default:
		close(c.flows)
	}
}

// game is one run of the property.
type game struct {
	s       *Session
	p       *script
	stop    func()
	results []<-chan result
	cancels []context.CancelFunc
	closed  chan struct{}
	tap     *tap
	stalled bool // the peer has not read at times

	mu       sync.Mutex
	late     map[int]int       // ref: times told
	seen     map[int]uint32    // index of a submit: its sequence number at the peer
	answered map[uint32]string // sequence number: the first id it was answered with
}

func newGame(t *testing.T, rt *rapid.T) *game {
	near, far := net.Pipe()
	g := &game{
		late: map[int]int{}, seen: map[int]uint32{}, answered: map[uint32]string{},
		closed: make(chan struct{}),
	}
	g.tap = &tap{Conn: far, flows: make(chan struct{})}
	close(g.tap.flows)
	g.p, g.stop = startScript(t, g.tap)
	cfg := testConfig()
	cfg.MaxInFlight = rapid.IntRange(1, 5).Draw(rt, "max in flight")
	cfg.ResponseTimeout = 10 * time.Second
	cfg.Tombstones = 20 * time.Second
	cfg.firstSequence = rapid.SampledFrom([]uint32{1, pdu.MaxSequence - 3}).Draw(rt, "first")
	cfg.Handler = handler{late: func(l LateResponse) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.late[l.Ref.(int)]++
	}}
	go func() {
		h, _ := pdu.ParseHeader(<-g.p.in)
		g.p.send(pdu.Header{Length: pdu.HeaderLen, ID: h.ID.Response(), Sequence: h.Sequence}.Append(nil))
	}()
	s, err := Bind(context.Background(), near, cfg)
	if err != nil {
		rt.Fatal(err)
	}
	g.s = s
	return g
}

func (g *game) play(rt *rapid.T) {
	defer func() {
		g.tap.open()
		_ = g.p.conn.Close()
		_ = g.s.Close(context.Background())
		for _, cancel := range g.cancels {
			cancel()
		}
		synctest.Wait()
		g.stop()
	}()
	closing := false
	rt.Repeat(map[string]func(*rapid.T){
		"submit":             func(*rapid.T) { g.submit() },
		"submit and be told": func(*rapid.T) { g.submitFunc() },
		"cancel": func(rt *rapid.T) {
			if len(g.cancels) > 0 {
				g.cancels[rapid.IntRange(0, len(g.cancels)-1).Draw(rt, "which")]()
			}
		},
		"answer": func(rt *rapid.T) {
			if seq := g.pick(rt); seq != 0 {
				id := fmt.Sprintf("%d-%d", seq, len(g.answered))
				if _, again := g.answered[seq]; !again {
					g.answered[seq] = id
				}
				g.p.answer(seq, id)
			}
		},
		"nack": func(rt *rapid.T) {
			if seq := g.pick(rt); seq != 0 {
				if _, again := g.answered[seq]; !again {
					g.answered[seq] = ""
				}
				g.p.sendPDU(pdu.StatusSysErr, seq, &pdu.GenericNack{})
			}
		},
		"foreign response": func(rt *rapid.T) {
			g.p.sendPDU(0, rapid.Uint32Range(1000, 2000).Draw(rt, "sequence"), &pdu.SubmitSMResp{})
			if seq := g.pick(rt); seq != 0 {
				g.p.sendPDU(0, seq, &pdu.DeliverSMResp{})
			}
		},
		"wait": func(rt *rapid.T) {
			time.Sleep(time.Duration(rapid.IntRange(1, 15_000).Draw(rt, "ms")) * time.Millisecond)
		},
		"stop reading": func(*rapid.T) {
			g.tap.shut()
			g.stalled = true
		},
		"read again": func(*rapid.T) { g.tap.open() },
		"unbind": func(rt *rapid.T) {
			if rapid.IntRange(0, 9).Draw(rt, "rarely") == 0 {
				g.p.sendPDU(0, 1, &pdu.Unbind{})
			}
		},
		"hang up": func(rt *rapid.T) {
			if rapid.IntRange(0, 9).Draw(rt, "rarely") == 0 {
				_ = g.p.conn.Close()
			}
		},
		"close": func(rt *rapid.T) {
			if !closing && rapid.IntRange(0, 9).Draw(rt, "rarely") == 0 {
				closing = true
				go func() {
					defer close(g.closed)
					_ = g.s.Close(context.Background())
				}()
			}
		},
		"": func(rt *rapid.T) {
			synctest.Wait()
			g.look(rt)
		},
	})
	_ = g.p.conn.Close()
	<-g.s.Done()
	if closing {
		<-g.closed
	}
	synctest.Wait()
	g.look(rt)
	g.judge(rt)
}

func (g *game) submit() {
	ctx, cancel := context.WithCancel(context.Background())
	g.cancels = append(g.cancels, cancel)
	index := len(g.results)
	c := make(chan result, 2)
	g.results = append(g.results, c)
	go func() {
		sm := message()
		sm.ShortMessage = []byte{byte(index >> 8), byte(index)}
		r, err := g.s.Submit(ctx, sm, index)
		c <- result{r, err}
	}()
}

func (g *game) submitFunc() {
	ctx, cancel := context.WithCancel(context.Background())
	g.cancels = append(g.cancels, cancel)
	index := len(g.results)
	c := make(chan result, 2)
	g.results = append(g.results, c)
	go func() {
		sm := message()
		sm.ShortMessage = []byte{byte(index >> 8), byte(index)}
		err := g.s.SubmitFunc(ctx, sm, index, func(ref any, r Response, err error) {
			if ref != index {
				err = fmt.Errorf("told of %v", ref)
			}
			c <- result{r, err}
		})
		if err != nil {
			c <- result{Response{}, err}
		}
	}()
}

// look takes what the session sent to the peer.
func (g *game) look(rt *rapid.T) {
	for {
		select {
		case frame, ok := <-g.p.in:
			if !ok {
				return
			}
			h, body, err := pdu.Parse(frame)
			if err != nil {
				rt.Fatal(err)
			}
			switch b := body.(type) {
			case *pdu.SubmitSM:
				index := int(b.ShortMessage[0])<<8 | int(b.ShortMessage[1])
				if _, twice := g.seen[index]; twice {
					rt.Fatalf("submit %d came twice", index)
				}
				g.seen[index] = h.Sequence
			case *pdu.EnquireLink:
				g.p.sendPDU(0, h.Sequence, &pdu.EnquireLinkResp{})
			}
		default:
			return
		}
	}
}

// pick returns the sequence number of a submit that the peer saw, or 0.
func (g *game) pick(rt *rapid.T) uint32 {
	if len(g.results) == 0 {
		return 0
	}
	return g.seen[rapid.IntRange(0, len(g.results)-1).Draw(rt, "which")]
}

func (g *game) judge(rt *rapid.T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for index, c := range g.results {
		var r result
		select {
		case r = <-c:
		default:
			rt.Fatalf("submit %d has no answer after the end of the session", index)
		}
		if len(c) > 0 {
			rt.Fatalf("submit %d was answered twice", index)
		}
		seq, seen := g.seen[index]
		id, answered := g.answered[seq]
		switch {
		case r.err == nil:
			if !answered || r.response.MessageID != id || r.response.Nack != (id == "") {
				rt.Fatalf("submit %d (sequence %d) was answered with %+v, want id %q, answered %v",
					index, seq, r.response, id, answered)
			}
		case errors.Is(r.err, ErrNotSent) == errors.Is(r.err, ErrNoResponse):
			rt.Fatalf("submit %d ended with %v, want one of the two verdicts", index, r.err)
		case errors.Is(r.err, ErrNotSent) && seen:
			rt.Fatalf("submit %d was said not to be sent, but the peer saw it as %d", index, seq)
		case errors.Is(r.err, ErrNoResponse) && !seen && !g.stalled:
			rt.Fatalf("submit %d is said to have been sent, but the peer read all and saw nothing", index)
		}
		if n := g.late[index]; n > 1 || n == 1 && !errors.Is(r.err, ErrNoResponse) {
			rt.Fatalf("submit %d (%v) had %d late responses", index, r.err, n)
		}
	}
	if st := g.s.Stats(); st.InFlight != 0 || st.Backlog != 0 {
		rt.Fatalf("%d in flight and %d waiting after the end", st.InFlight, st.Backlog)
	}
}
