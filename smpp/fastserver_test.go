package smpp

import (
	"encoding/binary"
	"net"
	"sync"
	"testing"

	"sluice/smpp/pdu"
)

// fastServer answers binds, submits, enquire_link and unbind by hand, as fast
// as loopback allows: what is measured against it is the client.
type fastServer struct {
	ln    net.Listener
	conns sync.WaitGroup
}

func startFastServer(tb testing.TB) *fastServer {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	srv := &fastServer{ln: ln}
	srv.conns.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			srv.conns.Go(func() { serveFast(c) })
		}
	})
	tb.Cleanup(func() {
		_ = ln.Close()
		srv.conns.Wait()
	})
	return srv
}

func (srv *fastServer) addr() string { return srv.ln.Addr().String() }

// serveFast answers all whole PDUs of one read with one write.
func serveFast(c net.Conn) {
	defer func() { _ = c.Close() }()
	in := make([]byte, 64<<10)
	var out []byte
	start, end := 0, 0
	for {
		n, err := c.Read(in[end:])
		if err != nil {
			return
		}
		end += n
		out = out[:0]
		for end-start >= pdu.HeaderLen {
			p := in[start:end]
			n := int(binary.BigEndian.Uint32(p))
			if len(p) < n {
				break
			}
			out = appendFastReply(out, p)
			start += n
		}
		if start == end {
			start, end = 0, 0
		} else if len(in)-end < 1024 {
			end = copy(in, in[start:end])
			start = 0
		}
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}

func appendFastReply(out, p []byte) []byte {
	id := binary.BigEndian.Uint32(p[4:])
	body := ""
	switch pdu.CommandID(id) {
	case pdu.IDSubmitSM:
		body = "00000000deadbeef\x00"
	case pdu.IDBindTransceiver, pdu.IDBindReceiver, pdu.IDBindTransmitter:
		body = "fast\x00"
	default:
	}
	out = binary.BigEndian.AppendUint32(out, uint32(pdu.HeaderLen+len(body)))
	out = binary.BigEndian.AppendUint32(out, id|0x80000000)
	out = append(out, 0, 0, 0, 0)
	out = append(out, p[12:16]...)
	return append(out, body...)
}
