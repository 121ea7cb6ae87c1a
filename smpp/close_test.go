package smpp

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sluice/smpp/pdu"
)

func TestCloseWaitsUnbindsAndCloses(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		cs := submitInOrder(t.Context(), s, 2)
		seqs := p.submits(2)
		closed := make(chan error, 1)
		go func() { closed <- s.Close(t.Context()) }()
		synctest.Wait()
		if _, err := s.Submit(t.Context(), message(), nil); !errors.Is(err, ErrNotSent) || !errors.Is(err, ErrClosed) {
			t.Fatalf("Submit while closing returned %v, want ErrNotSent and ErrClosed", err)
		}
		p.expectNothing(time.Second)
		p.answer(seqs[0], "A")
		p.answer(seqs[1], "B")
		wantAccepted(t, <-cs[0], "A")
		wantAccepted(t, <-cs[1], "B")
		p.expect(pdu.IDUnbind, 0, 4)
		p.sendPDU(0, 4, &pdu.UnbindResp{})
		p.expectClosed()
		if err := <-closed; err != nil {
			t.Fatalf("Close returned %v after an orderly end", err)
		}
		wantEnd(t, s, ErrClosed)
		if err := s.Close(t.Context()); err != nil {
			t.Fatalf("the second Close returned %v", err)
		}
	})
}

func TestCloseIsBounded(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		c := submit(t.Context(), s, nil)
		p.submits(1)
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		err := s.Close(ctx)
		if d := time.Since(start); d != 8*time.Second {
			t.Fatalf("Close took %v, want 3s for what is in flight and 5s for unbind_resp", d)
		}
		if !errors.Is(err, ErrClosed) {
			t.Fatalf("Close returned %v, want ErrClosed with what was left", err)
		}
		wantError(t, <-c, ErrNoResponse)
		p.expect(pdu.IDUnbind, 0, 3)
		p.expectClosed()
	})
}

func TestCloseSaysThatSubmitsWereLeft(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		c := submit(t.Context(), s, nil)
		p.submits(1)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		closed := make(chan error, 1)
		go func() { closed <- s.Close(ctx) }()
		p.expect(pdu.IDUnbind, 0, 3)
		p.sendPDU(0, 3, &pdu.UnbindResp{})
		if err := <-closed; !errors.Is(err, ErrClosed) || err.Error() == ErrClosed.Error() {
			t.Fatalf("Close returned %v, want it to count the unanswered submit", err)
		}
		wantError(t, <-c, ErrNoResponse)
	})
}

func TestHangingUpAnswersUnbind(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		closed := make(chan error, 1)
		go func() { closed <- s.Close(t.Context()) }()
		p.expect(pdu.IDUnbind, 0, 2)
		_ = p.conn.Close()
		if err := <-closed; err != nil {
			t.Fatalf("Close returned %v, want nil: the peer hung up after unbind", err)
		}
	})
}

func TestCloseSaysThatTheHandlerIgnoresTheEnd(t *testing.T) {
	release := make(chan struct{})
	cfg := testConfig()
	synctest.Test(t, func(t *testing.T) {
		release = make(chan struct{})
		cfg.Handler = handler{deliver: func(context.Context, *Inbound) pdu.Status {
			<-release
			return pdu.StatusOK
		}}
		s, p := bound(t, cfg)
		p.sendPDU(0, 7, &pdu.DeliverSM{})
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Close(ctx); !errors.Is(err, ErrClosed) {
			t.Fatalf("Close returned %v, want it to name the handler", err)
		}
		close(release)
	})
}

func TestCloseDoesNotHangOnAPeerThatStopsReading(t *testing.T) {
	bubbleStalled(t, testConfig(), func(t *testing.T, s *Session, _ *stalled) {
		c := submit(t.Context(), s, nil)
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		start := time.Now()
		err := s.Close(ctx)
		if d := time.Since(start); d > 6*time.Second || err == nil {
			t.Fatalf("Close returned %v after %v", err, d)
		}
		wantError(t, <-c, ErrNotSent)
	})
}

func TestCloseDoesNotWaitForEverForAHandler(t *testing.T) {
	cfg := testConfig()
	cfg.Handler = handler{deliver: func(ctx context.Context, _ *Inbound) pdu.Status {
		<-ctx.Done()
		return pdu.StatusOK
	}}
	bubble(t, cfg, func(t *testing.T, s *Session, p *script) {
		p.sendPDU(0, 1, &pdu.DeliverSM{})
		p.sendPDU(0, 2, &pdu.EnquireLink{})
		p.expect(pdu.IDEnquireLinkResp, 0, 2)
		start := time.Now()
		closed := make(chan error, 1)
		go func() { closed <- s.Close(t.Context()) }()
		for h := p.next(); h.ID != pdu.IDUnbind; h = p.next() {
			p.sendPDU(0, h.Sequence, &pdu.EnquireLinkResp{})
		}
		if d := time.Since(start); d != 30*time.Second {
			t.Fatalf("unbind came after %v, want ResponseTimeout", d)
		}
		_ = p.conn.Close()
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
	})
}
