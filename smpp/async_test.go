package smpp

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/smpp/pdu"
)

// told collects what the callbacks of SubmitFunc say, by ref.
type told struct {
	mu      sync.Mutex
	results map[any][]result
}

func (c *told) done(ref any, r Response, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.results == nil {
		c.results = map[any][]result{}
	}
	c.results[ref] = append(c.results[ref], result{r, err})
}

// of returns the one result of a ref.
func (c *told) of(t *testing.T, ref any) result {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.results[ref]); n != 1 {
		t.Fatalf("submit %v was told %d outcomes, want 1", ref, n)
	}
	return c.results[ref][0]
}

func (c *told) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.results)
}

// What waits for its turn goes out as answers come, in order, and never more than MaxInFlight at a time.
func TestSubmitFuncKeepsTheWindow(t *testing.T) {
	cfg := testConfig()
	cfg.MaxInFlight = 2
	bubble(t, cfg, func(t *testing.T, s *Session, p *script) {
		var c told
		for i := range 4 {
			if err := s.SubmitFunc(t.Context(), message(), i, c.done); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if st := s.Stats(); st.InFlight != 2 || st.Backlog != 2 {
			t.Fatalf("%d in flight and %d waiting, want 2 and 2", st.InFlight, st.Backlog)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.SubmitFunc(ctx, message(), 4, c.done); !errors.Is(err, ErrNotSent) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the fifth returned %v, want ErrNotSent with the end of its context", err)
		}
		sequences := p.submits(2)
		p.expectNothing(time.Second)
		p.answer(sequences[1], "B")
		third := p.submits(1)[0]
		p.answer(sequences[0], "A")
		fourth := p.submits(1)[0]
		p.answer(third, "C")
		p.sendPDU(pdu.StatusThrottled, fourth, &pdu.SubmitSMResp{})
		synctest.Wait()
		for i, want := range []string{"A", "B", "C", ""} {
			if r := c.of(t, i); r.err != nil || r.response.MessageID != want {
				t.Errorf("submit %d: %+v, %v, want id %q", i, r.response, r.err, want)
			}
		}
		if r := c.of(t, 3); r.response.Status != pdu.StatusThrottled {
			t.Errorf("status %v, want the refusal as data", r.response.Status)
		}
		if c.len() != 4 {
			t.Errorf("%d outcomes, want 4: the fifth was refused", c.len())
		}
	})
}

// Close sends nothing that still waits, and lets what is in flight finish.
func TestSubmitFuncAtClose(t *testing.T) {
	cfg := testConfig()
	cfg.MaxInFlight = 1
	bubble(t, cfg, func(t *testing.T, s *Session, p *script) {
		var c told
		for i := range 2 {
			if err := s.SubmitFunc(t.Context(), message(), i, c.done); err != nil {
				t.Fatal(err)
			}
		}
		sequence := p.submits(1)[0]
		closed := make(chan error, 1)
		go func() { closed <- s.Close(t.Context()) }()
		synctest.Wait()
		if r := c.of(t, 1); !errors.Is(r.err, ErrNotSent) || !errors.Is(r.err, ErrClosed) {
			t.Errorf("the one that waited ended with %v, want ErrNotSent and ErrClosed", r.err)
		}
		p.answer(sequence, "A")
		unbind := p.next()
		p.sendPDU(0, unbind.Sequence, &pdu.UnbindResp{})
		if err := <-closed; err != nil {
			t.Errorf("Close returned %v", err)
		}
		if r := c.of(t, 0); r.err != nil || r.response.MessageID != "A" {
			t.Errorf("the one in flight ended with %+v, %v", r.response, r.err)
		}
		if err := s.SubmitFunc(t.Context(), message(), 2, c.done); !errors.Is(err, ErrNotSent) {
			t.Errorf("after Close SubmitFunc returned %v, want ErrNotSent", err)
		}
	})
}

// A lost connection takes with it what is in flight as uncertain, and what waits as unsent.
func TestSubmitFuncAtTheEndOfTheConnection(t *testing.T) {
	cfg := testConfig()
	cfg.MaxInFlight = 1
	bubble(t, cfg, func(t *testing.T, s *Session, p *script) {
		var c told
		for i := range 2 {
			if err := s.SubmitFunc(t.Context(), message(), i, c.done); err != nil {
				t.Fatal(err)
			}
		}
		p.submits(1)
		_ = p.conn.Close()
		<-s.Done()
		synctest.Wait()
		wantError(t, c.of(t, 0), ErrNoResponse)
		wantError(t, c.of(t, 1), ErrNotSent)
	})
}

// Over a real socket the reader writes what its answers make room for. A peer that reads and answers in small pieces has
// the kernel take half a PDU at times; the stream stays whole, each submit is told its own answer, once, and there are
// never more in flight than allowed.
func TestTCPSubmitFuncThroughAFullSocket(t *testing.T) {
	const window, n, size = 16, 200, 20_000
	var outstanding, most atomic.Int64
	addr := listen(t, func(c *net.TCPConn) {
		if acceptBind(c) != nil {
			return
		}
		answers := make(chan []byte, n)
		var writing sync.WaitGroup
		writing.Go(func() {
			for a := range answers {
				outstanding.Add(-1)
				if _, err := c.Write(a); err != nil {
					t.Errorf("write: %v", err)
				}
			}
		})
		defer writing.Wait()
		defer close(answers)
		frame := make([]byte, 0, 64<<10)
		for {
			frame = frame[:pdu.HeaderLen]
			if _, err := io.ReadFull(c, frame); err != nil {
				return
			}
			h, err := pdu.ParseHeader(frame)
			if err != nil || h.ID == pdu.IDUnbind {
				answers <- pdu.Header{Length: pdu.HeaderLen, ID: pdu.IDUnbindResp, Sequence: h.Sequence}.Append(nil)
				outstanding.Add(1)
				return
			}
			frame = frame[:h.Length]
			if _, err := io.ReadFull(c, frame[pdu.HeaderLen:]); err != nil {
				t.Errorf("read: %v", err)
				return
			}
			_, body, err := pdu.Parse(frame)
			sm, ok := body.(*pdu.SubmitSM)
			if err != nil || !ok {
				t.Errorf("the stream is broken: %v", err)
				return
			}
			if now := outstanding.Add(1); now > most.Load() {
				most.Store(now)
			}
			payload, _ := sm.TLVs.Get(pdu.TagMessagePayload)
			answers <- encode(t, 0, h.Sequence, &pdu.SubmitSMResp{MessageID: payload[:8]})
		}
	})
	cfg := testConfig()
	cfg.Address = addr
	cfg.MaxInFlight = window
	conn, err := Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.(*net.TCPConn).SetWriteBuffer(8 << 10)
	s, err := Bind(t.Context(), conn, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if s.direct == nil {
		t.Log("this system has no direct writes: the writer alone is tested")
	}
	var c told
	var all sync.WaitGroup
	for i := range n {
		id := fmt.Sprintf("%08d", i)
		big := message()
		big.ShortMessage = nil
		big.TLVs = pdu.TLVs{{Tag: pdu.TagMessagePayload, Value: append([]byte(id), bytes.Repeat([]byte("x"), size)...)}}
		all.Add(1)
		err := s.SubmitFunc(t.Context(), big, id, func(ref any, r Response, err error) {
			c.done(ref, r, err)
			all.Done()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	all.Wait()
	for i := range n {
		id := fmt.Sprintf("%08d", i)
		if r := c.of(t, id); r.err != nil || r.response.MessageID != id {
			t.Errorf("submit %s was told %q, %v", id, r.response.MessageID, r.err)
		}
	}
	if m := most.Load(); m > window {
		t.Errorf("%d in flight, want at most %d", m, window)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A peer that stops reading while it still answers fills the socket under the reader, which must not wait for it.
func TestTCPSubmitFuncToAPeerThatStopsReading(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	addr := listen(t, func(c *net.TCPConn) {
		_ = c.SetReadBuffer(4 << 10)
		if acceptBind(c) != nil {
			return
		}
		// Answers for submits whose octets it never took, over and over: each read of them makes room for eight more.
		var answers []byte
		for sequence := uint32(2); sequence < 1000; sequence++ {
			answers = append(answers, encode(t, 0, sequence, &pdu.SubmitSMResp{MessageID: []byte("soon")})...)
		}
		head := make([]byte, 4)
		if _, err := io.ReadFull(c, head); err != nil || binary.BigEndian.Uint32(head) < 60_000 {
			t.Errorf("the first submit did not come: %x, %v", head, err)
		}
		for {
			select {
			case <-release:
				return
			default:
			}
			if _, err := c.Write(answers); err != nil {
				return
			}
		}
	})
	cfg := testConfig()
	cfg.Address = addr
	cfg.MaxInFlight = 8
	cfg.WriteTimeout = 100 * time.Millisecond
	s := dialAndBind(t, cfg)
	big := message()
	big.ShortMessage = nil
	big.TLVs = pdu.TLVs{{Tag: pdu.TagMessagePayload, Value: bytes.Repeat([]byte("x"), 60_000)}}
	var c told
	taken := 0
	for i := range 2000 {
		if s.SubmitFunc(t.Context(), big, i, c.done) != nil {
			break
		}
		taken++
	}
	if err := s.Close(t.Context()); !errors.Is(err, ErrNotReading) {
		t.Errorf("Close returned %v, want ErrNotReading", err)
	}
	for i := range taken {
		if r := c.of(t, i); r.err != nil && errors.Is(r.err, ErrNotSent) == errors.Is(r.err, ErrNoResponse) {
			t.Errorf("submit %d ended with %v, want one of the two verdicts", i, r.err)
		}
	}
	if c.len() != taken {
		t.Errorf("%d outcomes for %d submits", c.len(), taken)
	}
}

// A batch that the reader began and nobody went on with: the PDU that was cut is uncertain, those behind it were never
// sent, and with them goes what a failed write had left before.
func TestOutboxTellsWhatABegunBatchLeft(t *testing.T) {
	var o outbox
	lengths := []int{}
	for sequence := uint32(1); sequence <= 4; sequence++ {
		p := encode(t, 0, sequence, message())
		lengths = append(lengths, len(p))
		o.queued = append(o.queued, p...)
	}
	batch := o.take()
	if again := o.take(); again != nil || o.idle() {
		t.Error("a second writer was given a batch while the first has one")
	}
	o.begun, o.from = batch, lengths[0]+1 // the second was cut
	o.queued = append(o.queued, encode(t, 0, 5, message())...)
	o.abandon()
	if got := o.withdrawAll(); !slices.Equal(got, []uint32{3, 4, 5}) {
		t.Errorf("%v were never begun, want 3, 4 and 5", got)
	}
	if !o.idle() {
		t.Error("the outbox still holds something")
	}
}
