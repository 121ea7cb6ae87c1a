package smpp

import (
	"context"
	"testing"
	"time"

	foreignpdu "github.com/fiorix/go-smpp/smpp/pdu"
	"github.com/fiorix/go-smpp/smpp/pdu/pdufield"
	"github.com/fiorix/go-smpp/smpp/pdu/pdutext"
	"github.com/fiorix/go-smpp/smpp/smpptest"
	"go.uber.org/goleak"

	"sluice/smpp/pdu"
)

// foreignServer is go-smpp's test server, an SMPP implementation that shares
// nothing with ours. It does not echo the sequence number of the bind.
type foreignServer struct {
	*smpptest.Server
	heard chan foreignpdu.Body // what it was sent besides submit_sm
}

func startForeignServer(t *testing.T, onSubmit func(c smpptest.Conn, m foreignpdu.Body)) *foreignServer {
	t.Helper()
	before := goleak.IgnoreCurrent()
	srv := &foreignServer{Server: smpptest.NewUnstartedServer(), heard: make(chan foreignpdu.Body, 100)}
	srv.Handler = func(c smpptest.Conn, m foreignpdu.Body) {
		switch m.Header().ID {
		case foreignpdu.SubmitSMID:
			onSubmit(c, m)
		case foreignpdu.EnquireLinkID:
			reply := foreignpdu.NewEnquireLinkResp()
			reply.Header().Seq = m.Header().Seq
			_ = c.Write(reply)
		case foreignpdu.UnbindID:
			reply := foreignpdu.NewUnbindResp()
			reply.Header().Seq = m.Header().Seq
			_ = c.Write(reply)
		default:
			srv.heard <- m
		}
	}
	srv.Start()
	t.Cleanup(func() {
		srv.Close()
		goleak.VerifyNone(t, before)
	})
	return srv
}

func (srv *foreignServer) config() Config {
	return Config{SystemID: srv.User, Password: srv.Passwd, Address: srv.Addr()}
}

func acceptForeign(c smpptest.Conn, m foreignpdu.Body) {
	reply := foreignpdu.NewSubmitSMResp()
	reply.Header().Seq = m.Header().Seq
	// The id says what arrived, field by field.
	f := m.Fields()
	_ = reply.Fields().Set(pdufield.MessageID, f[pdufield.SourceAddr].String()+"/"+f[pdufield.DestinationAddr].String())
	_ = c.Write(reply)
}

func TestInteropSubmit(t *testing.T) {
	srv := startForeignServer(t, acceptForeign)
	s := dialAndBind(t, srv.config())
	for range 10 {
		r, err := s.Submit(t.Context(), message(), nil)
		if err != nil || r.Status != pdu.StatusOK || r.MessageID != "ACME/15550100" {
			t.Errorf("Submit returned %+v, %v", r, err)
		}
	}
	if st := s.Stats(); st.PeerSystemID != smpptest.DefaultSystemID {
		t.Errorf("the peer is %q, want %q", st.PeerSystemID, smpptest.DefaultSystemID)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestInteropStatuses(t *testing.T) {
	srv := startForeignServer(t, func(c smpptest.Conn, m foreignpdu.Body) {
		reply := foreignpdu.NewSubmitSMResp()
		reply.Header().Seq = m.Header().Seq
		reply.Header().Status = foreignpdu.Status(pdu.StatusThrottled)
		_ = c.Write(reply)
	})
	s := dialAndBind(t, srv.config())
	if r, err := s.Submit(t.Context(), message(), nil); err != nil || r.Status != pdu.StatusThrottled {
		t.Errorf("Submit returned %+v, %v, want a throttle", r, err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// The foreign encoder writes a NUL between sm_length and short_message and does
// not count it, so the text loses its last character. The session says so and
// goes on.
func TestInteropDeliverWithAStrayNUL(t *testing.T) {
	srv := startForeignServer(t, func(c smpptest.Conn, m foreignpdu.Body) {
		d := foreignpdu.NewDeliverSM()
		d.Header().Seq = 900
		_ = d.Fields().Set(pdufield.SourceAddr, "15550100")
		_ = d.Fields().Set(pdufield.ShortMessage, pdutext.Raw("hello"))
		_ = c.Write(d)
		acceptForeign(c, m)
	})
	cfg := srv.config()
	cfg.Handler = handler{deliver: func(_ context.Context, m *Inbound) pdu.Status {
		t.Errorf("the handler was given the text %q", m.Deliver.ShortMessage)
		return pdu.StatusOK
	}}
	s := dialAndBind(t, cfg)
	for range 2 {
		if _, err := s.Submit(t.Context(), message(), nil); err != nil {
			t.Error(err)
		}
		h := (<-srv.heard).Header()
		if h.ID != foreignpdu.DeliverSMRespID || h.Seq != 900 || h.Status != foreignpdu.Status(pdu.StatusInvCmdLen) {
			t.Errorf("the deliver_sm was answered with %+v", h)
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestInteropEnquireLink(t *testing.T) {
	srv := startForeignServer(t, acceptForeign)
	cfg := srv.config()
	cfg.EnquireLinkInterval = time.Millisecond
	s := dialAndBind(t, cfg)
	answered := time.NewTicker(time.Millisecond)
	defer answered.Stop()
	for last, n := s.Stats().Began, 0; n < 5; { // answers to probes: nothing else comes
		select {
		case <-s.Done():
			t.Fatalf("the session ended with %v, want the probes answered", s.Err())
		case <-answered.C:
		}
		if heard := s.Stats().LastHeard; heard.After(last) {
			last = heard
			n++
		}
	}
	if st := s.Stats(); st.Unmatched != 0 {
		t.Errorf("stats %+v, want every probe answered", st)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
