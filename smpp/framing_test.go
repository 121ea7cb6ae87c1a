package smpp

import (
	"bytes"
	"net"
	"testing"

	"sluice/smpp/pdu"
)

// cut feeds a stream to a framer in pieces whose lengths repeat sizes.
func cut(stream, sizes []byte, longest int) (frames [][]byte, err error) {
	f := newFramer(longest)
	for i := 0; ; i++ {
		for {
			frame, err := f.next()
			if err != nil {
				return frames, err
			}
			if frame == nil {
				break
			}
			frames = append(frames, bytes.Clone(frame))
		}
		if len(stream) == 0 {
			return frames, nil
		}
		n := len(stream)
		if len(sizes) > 0 {
			n = 1 + int(sizes[i%len(sizes)])
		}
		n = copy(f.space(), stream[:min(n, len(stream))])
		if n == 0 {
			panic("no space for the next read")
		}
		f.filled(n)
		stream = stream[n:]
	}
}

func FuzzFramesSplitAnywhere(f *testing.F) {
	var stream []byte
	for seq, body := range []pdu.Body{
		&pdu.EnquireLink{}, &pdu.SubmitSMResp{MessageID: []byte("77")},
		&pdu.DeliverSM{ShortMessage: []byte("hello")}, &pdu.Unbind{},
	} {
		stream, _ = pdu.Append(stream, 0, uint32(seq+1), body)
	}
	f.Add(stream, []byte{0})
	f.Add(stream, []byte{3, 15, 1})
	f.Add(append(stream, "HTTP/1.1 400"...), []byte{6})
	f.Add([]byte{0, 0, 0, 15, 0, 0, 0, 0x15}, []byte{2})
	f.Add([]byte{0, 0, 8, 1}, []byte{0})
	f.Fuzz(func(t *testing.T, stream, sizes []byte) {
		const longest = 2048
		whole, wholeErr := cut(stream, nil, longest)
		split, splitErr := cut(stream, sizes, longest)
		if (wholeErr == nil) != (splitErr == nil) {
			t.Fatalf("whole: %v, split: %v", wholeErr, splitErr)
		}
		if len(whole) != len(split) {
			t.Fatalf("%d PDUs whole, %d split", len(whole), len(split))
		}
		n := 0
		for i := range whole {
			if !bytes.Equal(whole[i], split[i]) {
				t.Fatalf("PDU %d is %x whole and %x split", i, whole[i], split[i])
			}
			n += len(whole[i])
		}
		if !bytes.Equal(bytes.Join(whole, nil), stream[:n]) {
			t.Fatal("the PDUs are not the stream")
		}
		if rest := len(stream) - n; wholeErr == nil && rest >= longest {
			t.Fatalf("%d octets are held back, above the limit of a PDU", rest)
		}
	})
}

func TestFramerGrowsForALongPDUOnly(t *testing.T) {
	f := newFramer(1 << 20)
	if len(f.buf) != firstFrameBuffer {
		t.Fatalf("%d octets at the start, want %d", len(f.buf), firstFrameBuffer)
	}
	f.filled(copy(f.space(), []byte{0x7f, 0xff, 0xff, 0xff}))
	if _, err := f.next(); err == nil {
		t.Fatal("an impossible length was taken")
	}
	if len(f.space()) > firstFrameBuffer {
		t.Fatal("the buffer grew for an impossible length")
	}
	frames, err := cut(append([]byte{0, 3, 0, 0}, make([]byte, 3<<16-4)...), []byte{255}, 1<<20)
	if err != nil || len(frames) != 1 || len(frames[0]) != 3<<16 {
		t.Fatalf("%d PDUs, %v; want one of %d octets", len(frames), err, 3<<16)
	}
}

// FuzzPeer lets a peer say anything to a bound session with a submit in flight:
// the session ends, nothing panics, and the submit has its one answer.
func FuzzPeer(f *testing.F) {
	for _, body := range []pdu.Body{
		&pdu.SubmitSMResp{MessageID: []byte("77")}, &pdu.GenericNack{}, &pdu.Unbind{}, &pdu.UnbindResp{},
		&pdu.EnquireLink{}, &pdu.EnquireLinkResp{}, &pdu.DeliverSM{ShortMessage: []byte("x")},
		&pdu.DataSM{}, &pdu.BindResp{Command: pdu.IDBindTransceiverResp},
	} {
		b, err := pdu.Append(nil, 0, 2, body)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)-1])
	}
	f.Add([]byte("HTTP/1.1 400 Bad Request"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		near, far := net.Pipe()
		p, stop := startScript(t, far)
		defer stop()
		cfg := testConfig()
		cfg.Handler = handler{}
		go func() {
			h := p.next()
			p.send(pdu.Header{Length: pdu.HeaderLen, ID: h.ID.Response(), Sequence: h.Sequence}.Append(nil))
		}()
		s, err := Bind(t.Context(), near, cfg)
		if err != nil {
			t.Fatal(err)
		}
		c := submit(t.Context(), s, nil)
		p.submits(1)
		go func() {
			_, _ = far.Write(stream)
			_ = far.Close()
		}()
		<-c
		<-s.Done()
		if st := s.Stats(); st.InFlight != 0 || s.Err() == nil {
			t.Fatalf("after the end: %+v, %v", st, s.Err())
		}
		_ = s.Close(t.Context())
	})
}
