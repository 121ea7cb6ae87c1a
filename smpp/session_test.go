package smpp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sluice/smpp/pdu"
)

func TestSubmitReturnsTheAnswer(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		c := submit(t.Context(), s, nil)
		seq := p.submits(1)[0]
		time.Sleep(70 * time.Millisecond)
		p.sendPDU(pdu.StatusThrottled, seq, &pdu.SubmitSMResp{
			MessageID: []byte("77"),
			TLVs:      pdu.TLVs{{Tag: pdu.TagCongestionState, Value: []byte{0x5f}}},
		})
		r := <-c
		want := Response{Status: pdu.StatusThrottled, MessageID: "77", Congestion: 95, RTT: 70 * time.Millisecond}
		if r.err != nil || r.response != want {
			t.Fatalf("Submit returned %+v, %v; want %+v", r.response, r.err, want)
		}
		st := s.Stats()
		if st.Submitted != 1 || st.Answered != 1 || st.InFlight != 0 || st.LastStatus != pdu.StatusThrottled {
			t.Fatalf("stats %+v", st)
		}
	})
}

func TestCongestionOutOfRangeIsAbsent(t *testing.T) {
	for value, want := range map[string]int{"\x63": 99, "\x00": 0, "\x64": -1, "\xff": -1} {
		frame := encode(t, 0, 1, &pdu.SubmitSMResp{TLVs: pdu.TLVs{{Tag: pdu.TagCongestionState, Value: []byte(value)}}})
		h, _ := pdu.ParseHeader(frame)
		var r Response
		if r.parse(h, frame); r.Congestion != want {
			t.Errorf("congestion_state %x was read as %d, want %d", value, r.Congestion, want)
		}
	}
}

func TestGenericNackAnswersAnyPendingRequest(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		c := submit(t.Context(), s, nil)
		seq := p.submits(1)[0]
		p.sendPDU(pdu.StatusInvCmdID, seq, &pdu.GenericNack{})
		r := <-c
		if r.err != nil || !r.response.Nack || r.response.Status != pdu.StatusInvCmdID || r.response.Congestion != -1 {
			t.Fatalf("Submit returned %+v, %v", r.response, r.err)
		}
	})
}

func TestResponseOfAnotherTypeIsNoAnswer(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		c := submit(t.Context(), s, nil)
		seq := p.submits(1)[0]
		p.sendPDU(pdu.StatusOK, seq, &pdu.EnquireLinkResp{})
		p.sendPDU(pdu.StatusOK, seq, &pdu.UnbindResp{})
		p.sendPDU(pdu.StatusOK, seq, &pdu.DeliverSMResp{})
		synctest.Wait()
		if n := s.Stats().InFlight; n != 1 {
			t.Fatalf("%d in flight after responses of other types, want 1", n)
		}
		p.answer(seq, "A")
		wantAccepted(t, <-c, "A")
		p.answer(seq, "B")
		synctest.Wait()
		if n := s.Stats().Unmatched; n != 2 {
			t.Fatalf("%d unmatched responses, want the unbind_resp and the duplicate", n)
		}
	})
}

func TestResponseTimeoutInOrderOfSending(t *testing.T) {
	late := make(chan LateResponse, 10)
	cfg := testConfig()
	cfg.ResponseTimeout = 10 * time.Second
	cfg.Handler = handler{late: func(l LateResponse) { late <- l }}
	bubble(t, cfg, func(t *testing.T, s *Session, p *script) {
		start := time.Now()
		first := submit(t.Context(), s, "first")
		time.Sleep(3 * time.Second)
		second := submit(t.Context(), s, "second")
		seqs := p.submits(2)
		wantError(t, <-first, ErrNoResponse)
		if d := time.Since(start); d != 10*time.Second {
			t.Fatalf("the first submit expired after %v, want 10s", d)
		}
		wantError(t, <-second, ErrNoResponse)
		if d := time.Since(start); d != 13*time.Second {
			t.Fatalf("the second submit expired after %v, want 13s", d)
		}
		if st := s.Stats(); st.Expired != 2 || st.Tombstones != 2 {
			t.Fatalf("stats %+v, want 2 expired and 2 tombstones", st)
		}
		p.answer(seqs[1], "B")
		l := <-late
		if l.Ref != "second" || l.Response.MessageID != "B" || l.Response.RTT != 10*time.Second {
			t.Fatalf("late response %+v", l)
		}
		p.answer(seqs[1], "B") // twice: the second belongs to nothing
		synctest.Wait()
		if st := s.Stats(); st.Late != 1 || st.Unmatched != 1 {
			t.Fatalf("stats %+v, want 1 late and 1 unmatched", st)
		}
	})
}

func TestTombstonesEnd(t *testing.T) {
	cfg := testConfig()
	cfg.Tombstones = time.Minute
	cfg.EnquireLinkInterval = time.Hour
	bubble(t, cfg, func(t *testing.T, s *Session, p *script) {
		ctx, cancel := context.WithCancel(t.Context())
		c := submit(ctx, s, nil)
		seq := p.submits(1)[0]
		cancel()
		r := <-c
		wantError(t, r, ErrNoResponse)
		wantError(t, r, context.Canceled)
		time.Sleep(time.Minute)
		p.answer(seq, "A")
		synctest.Wait()
		if st := s.Stats(); st.Late != 0 || st.Unmatched != 1 {
			t.Fatalf("stats %+v, want the response after the tombstone's minute unmatched", st)
		}
	})
}

func TestCancelBeforeSubmitSendsNothing(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("the message's deadline passed")
		cancel(reason)
		_, err := s.Submit(ctx, message(), nil)
		if !errors.Is(err, ErrNotSent) || !errors.Is(err, reason) {
			t.Fatalf("Submit returned %v, want ErrNotSent with the cause", err)
		}
		p.expectNothing(time.Second)
	})
}

func TestCancelWhileTheWriterIsBusyWithdrawsThePDU(t *testing.T) {
	cfg := testConfig()
	bubbleStalled(t, cfg, func(t *testing.T, s *Session, p *stalled) {
		stuck := submit(t.Context(), s, nil) // in the writer's hands
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		queued := submit(ctx, s, nil)
		synctest.Wait()
		behind := submit(t.Context(), s, nil)
		synctest.Wait()
		cancel()
		r := <-queued
		wantError(t, r, ErrNotSent)
		wantError(t, r, context.Canceled)
		if n := s.Stats().Tombstones; n != 0 {
			t.Fatalf("%d tombstones for a PDU that never left", n)
		}
		q := p.resume(t)
		seqs := q.submits(2)
		q.answer(seqs[0], "A")
		q.answer(seqs[1], "C")
		wantAccepted(t, <-stuck, "A")
		wantAccepted(t, <-behind, "C")
		q.expectNothing(time.Second)
	})
}

func TestFieldThatDoesNotFitIsNotSent(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		sm := message()
		sm.Dest.Addr = make([]byte, 50)
		for i := range sm.Dest.Addr {
			sm.Dest.Addr[i] = '7'
		}
		_, err := s.Submit(t.Context(), sm, nil)
		if _, ok := errors.AsType[*pdu.FieldError](err); !ok || !errors.Is(err, ErrNotSent) {
			t.Fatalf("Submit returned %v, want ErrNotSent with a *pdu.FieldError", err)
		}
		p.expectNothing(time.Second)
		if st := s.Stats(); st.Submitted != 0 {
			t.Fatalf("stats %+v, want nothing submitted", st)
		}
	})
}

func TestSubmitBlocksWhenTheTableIsFull(t *testing.T) {
	cfg := testConfig()
	cfg.MaxInFlight = 2
	bubble(t, cfg, func(t *testing.T, s *Session, p *script) {
		cs := submitInOrder(t.Context(), s, 3)
		seqs := p.submits(2)
		p.expectNothing(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		impatient := submit(ctx, s, nil)
		synctest.Wait()
		cancel()
		wantError(t, <-impatient, ErrNotSent)
		p.answer(seqs[1], "B")
		wantAccepted(t, <-cs[1], "B")
		seqs = append(seqs, p.submits(1)...)
		p.answer(seqs[0], "A")
		p.answer(seqs[2], "C")
		wantAccepted(t, <-cs[0], "A")
		wantAccepted(t, <-cs[2], "C")
	})
}

func TestBlockedSubmitLearnsOfTheEnd(t *testing.T) {
	cfg := testConfig()
	cfg.MaxInFlight = 1
	bubble(t, cfg, func(t *testing.T, s *Session, p *script) {
		cs := submitInOrder(t.Context(), s, 2)
		p.submits(1)
		_ = p.conn.Close()
		wantError(t, <-cs[0], ErrNoResponse)
		wantError(t, <-cs[1], ErrNotSent)
		wantEnd(t, s, ErrHungUp)
		_, err := s.Submit(t.Context(), message(), nil)
		if !errors.Is(err, ErrNotSent) || !errors.Is(err, ErrHungUp) {
			t.Fatalf("Submit after the end returned %v, want ErrNotSent and the cause", err)
		}
	})
}

func TestGivingUpMakesRoom(t *testing.T) {
	cfg := testConfig()
	cfg.MaxInFlight = 1
	bubble(t, cfg, func(t *testing.T, s *Session, p *script) {
		ctx, cancel := context.WithCancel(t.Context())
		first := submit(ctx, s, nil)
		p.submits(1)
		second := submit(t.Context(), s, nil)
		synctest.Wait()
		cancel()
		wantError(t, <-first, ErrNoResponse)
		p.answer(p.submits(1)[0], "B")
		wantAccepted(t, <-second, "B")
	})
}

func TestSubmitWithAContextThatCannotEnd(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		c := submit(context.WithoutCancel(t.Context()), s, nil)
		p.answer(p.submits(1)[0], "A")
		wantAccepted(t, <-c, "A")
	})
}

func TestPendingListsTheOldestFirst(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		for _, ref := range []string{"a", "b", "c"} {
			submit(t.Context(), s, ref)
			time.Sleep(time.Second)
		}
		p.answer(p.submits(3)[1], "B")
		synctest.Wait()
		want := []Pending{{Sequence: 2, Age: 3 * time.Second, Ref: "a"}, {Sequence: 4, Age: time.Second, Ref: "c"}}
		if got := s.Pending(); !slices.Equal(got, want) {
			t.Fatalf("pending %+v, want %+v", got, want)
		}
		_ = p.conn.Close()
	})
}

func TestReceiverDoesNotSubmit(t *testing.T) {
	cfg := testConfig()
	cfg.Mode = Receiver
	bubble(t, cfg, func(t *testing.T, s *Session, _ *script) {
		if _, err := s.Submit(t.Context(), message(), nil); !errors.Is(err, ErrNotSent) {
			t.Fatalf("Submit on a receiver returned %v, want ErrNotSent", err)
		}
	})
}

func TestEveryWaiterIsToldWhatThePeerMayHaveSeen(t *testing.T) {
	bubbleStalled(t, testConfig(), func(t *testing.T, s *Session, p *stalled) {
		// One PDU is in the writer's hands when the peer has read 10 octets of
		// it; the two behind it were never begun.
		begun := submit(t.Context(), s, nil)
		synctest.Wait()
		queued := submitInOrder(t.Context(), s, 2)
		if _, err := io.ReadFull(p.conn, make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		_ = p.conn.Close()
		wantError(t, <-begun, ErrNoResponse)
		for _, c := range queued {
			wantError(t, <-c, ErrNotSent)
		}
		<-s.Done()
	})
}

func TestPDUsBehindAnUnfinishedWriteAreNotSent(t *testing.T) {
	bubbleStalled(t, testConfig(), func(t *testing.T, s *Session, p *stalled) {
		stuck := submit(t.Context(), s, nil)
		synctest.Wait()
		// These three ride in one batch, of which the peer reads a part.
		batch := submitInOrder(t.Context(), s, 3)
		one := len(encode(t, 0, 1, message()))
		if _, err := io.ReadFull(p.conn, make([]byte, 2*one+1)); err != nil {
			t.Fatal(err)
		}
		_ = p.conn.Close()
		wantError(t, <-stuck, ErrNoResponse)
		wantError(t, <-batch[0], ErrNoResponse)
		wantError(t, <-batch[1], ErrNoResponse)
		wantError(t, <-batch[2], ErrNotSent)
	})
}

func TestPeerThatStopsReadingEndsTheSession(t *testing.T) {
	bubbleStalled(t, testConfig(), func(t *testing.T, s *Session, _ *stalled) {
		start := time.Now()
		stuck := submit(t.Context(), s, nil)
		synctest.Wait()
		queued := submit(t.Context(), s, nil)
		wantError(t, <-stuck, ErrNotSent) // the peer took no octet of it
		r := <-queued
		wantError(t, r, ErrNotSent)
		wantError(t, r, ErrNotReading)
		wantEnd(t, s, ErrNotReading)
		if d := time.Since(start); d != 10*time.Second+lastRead {
			t.Fatalf("the session ended after %v, want WriteTimeout and the last look", d)
		}
	})
}

func TestAnswersSentBeforeAFailedWriteCount(t *testing.T) {
	bubbleStalled(t, testConfig(), func(t *testing.T, s *Session, p *stalled) {
		first := submit(t.Context(), s, nil)
		if _, err := io.ReadFull(p.conn, make([]byte, len(encode(t, 0, 1, message())))); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		stuck := submit(t.Context(), s, nil)
		time.Sleep(10*time.Second + lastRead/2)
		if _, err := p.conn.Write(encode(t, 0, 2, &pdu.SubmitSMResp{MessageID: []byte("A")})); err != nil {
			t.Fatal(err)
		}
		wantAccepted(t, <-first, "A")
		wantError(t, <-stuck, ErrNotSent)
	})
}

func TestPeerThatAsksAndDoesNotReadEndsTheSession(t *testing.T) {
	cfg := testConfig()
	cfg.WriteTimeout = time.Hour
	bubbleStalled(t, cfg, func(t *testing.T, s *Session, p *stalled) {
		probes := make([]byte, 0, 64<<10)
		for range cap(probes) / pdu.HeaderLen {
			probes = pdu.Header{Length: pdu.HeaderLen, ID: pdu.IDEnquireLink, Sequence: 9}.Append(probes)
		}
		for {
			if _, err := p.conn.Write(probes); err != nil {
				break
			}
		}
		wantEnd(t, s, ErrNotReading)
	})
}

func TestEveryChunkOfALongBatchHasItsOwnDeadline(t *testing.T) {
	bubbleStalled(t, testConfig(), func(t *testing.T, s *Session, p *stalled) {
		big := message()
		big.ShortMessage = nil
		big.TLVs = pdu.TLVs{{Tag: pdu.TagMessagePayload, Value: make([]byte, 60_000)}}
		c := make(chan result, 10)
		for range cap(c) {
			go func() {
				r, err := s.Submit(t.Context(), big, nil)
				c <- result{r, err}
			}()
			synctest.Wait()
		}
		// 600 kB wait for a peer that takes one chunk every 8 s: slow, but it
		// reads, so a deadline of 10 s for the whole of it would be unfair.
		b := make([]byte, writeChunk)
		for range 3 {
			time.Sleep(8 * time.Second)
			if _, err := io.ReadFull(p.conn, b); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := s.Stats().InFlight; n != cap(c) {
			t.Fatalf("%d in flight, want %d: the session has ended with %v", n, cap(c), s.Err())
		}
		_ = p.conn.Close()
		for range cap(c) {
			<-c
		}
	})
}

func TestBuffersOfABurstAreNotKept(t *testing.T) {
	var o outbox
	o.queued = make([]byte, keptBuffer+1)
	o.written(o.take(), keptBuffer+1)
	if o.spare != nil {
		t.Fatalf("%d octets are kept, want none above %d", cap(o.spare), keptBuffer)
	}
	o.queued = make([]byte, keptBuffer)
	o.written(o.take(), keptBuffer)
	if cap(o.spare) != keptBuffer || !o.idle() {
		t.Fatalf("%d octets are kept, want %d", cap(o.spare), keptBuffer)
	}
}

func TestSequenceNumbersWrapAndSkipStragglers(t *testing.T) {
	cfg := testConfig()
	cfg.firstSequence = pdu.MaxSequence - 2 // the bind
	bubble(t, cfg, func(t *testing.T, s *Session, p *script) {
		cs := submitInOrder(t.Context(), s, 4)
		seqs := p.submits(4)
		want := []uint32{pdu.MaxSequence - 1, pdu.MaxSequence, 1, 2}
		if fmt.Sprint(seqs) != fmt.Sprint(want) {
			t.Fatalf("sequence numbers %v, want %v", seqs, want)
		}
		for i, c := range cs {
			p.answer(seqs[i], fmt.Sprint(i))
			wantAccepted(t, <-c, fmt.Sprint(i))
		}
	})
}
