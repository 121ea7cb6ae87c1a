//go:build interop

package interop

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/smpp/pdu"
)

// columns are the fields that tshark and we must read alike, of all PDUs of a
// direction in order.
func columns() []string {
	return []string{
		"smpp.command_length", "smpp.command_id", "smpp.command_status", "smpp.sequence_number", "smpp.system_id",
		"smpp.source_addr", "smpp.destination_addr", "smpp.data_coding", "smpp.message", "smpp.message_id",
		"smpp.user_message_reference", "smpp.receipted_message_id", "smpp.message_state",
	}
}

// view is what tshark reads in one direction: the values of each column.
type view map[string][]string

func (v view) add(column, format string, value any) {
	if s := fmt.Sprintf(format, value); s != "" { // tshark leaves empty strings out
		v[column] = append(v[column], s)
	}
}

// dissect holds tshark's reading of what we wrote against ours.
func (c *capture) dissect(t *testing.T, taps []*tap) {
	t.Helper()
	read := c.read(t)
	for _, tap := range taps {
		from := c.port
		if tap.client == port(tap.LocalAddr()) {
			from = tap.client
		}
		_, written := tap.octets()
		packets, _ := cut(written)
		if i := slices.IndexFunc(packets, func(p packet) bool { return !known(p) }); i >= 0 {
			packets = packets[:i] // tshark gives up there
		}
		theirs, ours := read[[2]int{tap.client, from}], viewOf(t, packets)
		for _, column := range columns() {
			if !slices.Equal(theirs[column], ours[column]) {
				t.Errorf("from port %d tshark reads %s\n%q, and we wrote\n%q", from, column, theirs[column], ours[column])
			}
		}
		if faults := theirs["faults"]; len(faults) > 0 {
			t.Errorf("tshark finds fault with what we wrote: %q", faults)
		}
	}
}

// read has tshark dissect the capture; the keys are the client's port and the
// sender's.
func (c *capture) read(t *testing.T) map[[2]int]view {
	t.Helper()
	args := []string{"-Y", "smpp", "-T", "fields", "-E", "aggregator=;", "-d", fmt.Sprintf("tcp.port==%d,smpp", c.port)}
	fields := append([]string{"tcp.srcport", "tcp.dstport", "_ws.malformed", "_ws.expert.severity", "_ws.expert.message"}, columns()...)
	for _, field := range fields {
		args = append(args, "-e", field)
	}
	out := c.tshark(t, args...)
	views := map[[2]int]view{}
	for line := range strings.Lines(out) {
		values := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		source, _ := strconv.Atoi(values[0])
		client, _ := strconv.Atoi(values[1])
		if client == c.port {
			client = source
		}
		key := [2]int{client, source}
		if views[key] == nil {
			views[key] = view{}
		}
		if values[2] != "" || grave(values[3]) {
			views[key].add("faults", "%s", strings.Join(values[2:5], " "))
		}
		for i, column := range columns() {
			for value := range strings.SplitSeq(values[5+i], ";") {
				views[key].add(column, "%s", value)
			}
		}
	}
	return views
}

// grave reports whether one of the severities is a warning or an error.
func grave(severities string) bool {
	const warning = 0x600000
	for s := range strings.SplitSeq(severities, ";") {
		if n, _ := strconv.ParseUint(s, 0, 32); n >= warning {
			return true
		}
	}
	return false
}

// viewOf is our own reading.
func viewOf(t *testing.T, packets []packet) view {
	t.Helper()
	v := view{}
	for _, p := range packets {
		v.add("smpp.command_length", "%d", p.Length)
		v.add("smpp.command_id", "0x%08x", uint32(p.ID))
		if p.ID.IsResponse() { // tshark shows no status of requests
			v.add("smpp.command_status", "0x%08x", uint32(p.Status))
		}
		v.add("smpp.sequence_number", "%d", p.Sequence)
		_, body, err := pdu.Parse(p.octets)
		if err != nil {
			t.Errorf("%s: %v", p.ID, err)
		}
		switch b := body.(type) {
		case *pdu.Bind:
			v.add("smpp.system_id", "%s", b.SystemID)
		case *pdu.BindResp:
			v.add("smpp.system_id", "%s", b.SystemID)
		case *pdu.SubmitSM:
			v.message(b)
		case *pdu.DeliverSM:
			v.message((*pdu.SubmitSM)(b))
		case *pdu.SubmitSMResp:
			v.add("smpp.message_id", "%s", b.MessageID)
		case *pdu.DeliverSMResp:
			v.add("smpp.message_id", "%s", b.MessageID)
		}
	}
	return v
}

func (v view) message(sm *pdu.SubmitSM) {
	v.add("smpp.source_addr", "%s", sm.Source.Addr)
	v.add("smpp.destination_addr", "%s", sm.Dest.Addr)
	v.add("smpp.data_coding", "0x%02x", sm.DataCoding)
	v.add("smpp.message", "%s", hex.EncodeToString(sm.ShortMessage))
	if n, ok := sm.TLVs.Uint16(pdu.TagUserMessageReference); ok {
		v.add("smpp.user_message_reference", "0x%04x", n)
	}
	if id, ok := sm.TLVs.CString(pdu.TagReceiptedMessageID); ok {
		v.add("smpp.receipted_message_id", "%s", id)
	}
	if state, ok := sm.TLVs.Uint8(pdu.TagMessageState); ok {
		v.add("smpp.message_state", "%d", state)
	}
}

// dissectTLS has tshark decrypt the conversation. Its dissector for SMPP does not
// look inside TLS, so the octets are compared.
func (c *capture) dissectTLS(t *testing.T, taps []*tap) {
	t.Helper()
	for i, tap := range taps {
		out := c.tshark(t, "-o", "tls.keylog_file:"+c.keys, "-d", fmt.Sprintf("tcp.port==%d,tls", c.port),
			"-z", fmt.Sprintf("follow,tls,raw,%d", i))
		var fromClient, fromServer []byte
		first, second := &fromServer, &fromClient // node 1 is indented
		for line := range strings.Lines(out) {
			if address, ok := strings.CutPrefix(line, "Node 0: "); ok && !strings.HasSuffix(address, fmt.Sprintf(":%d\n", c.port)) {
				first, second = second, first
			}
			into := first
			if strings.HasPrefix(line, "\t") {
				into = second
			}
			octets, err := hex.DecodeString(strings.TrimSpace(line))
			if err == nil { // else a heading
				*into = append(*into, octets...)
			}
		}
		read, written := tap.octets()
		if tap.client == port(tap.LocalAddr()) {
			read, written = written, read
		}
		if !bytes.Equal(fromClient, read) || !bytes.Equal(fromServer, written) {
			t.Errorf("tshark decrypts\n%x\n%x, and what passed is\n%x\n%x", fromClient, fromServer, read, written)
		}
	}
}

// tshark reads the capture and returns what it prints.
func (c *capture) tshark(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, need(t, "tshark", "tshark"), append([]string{"-q", "-r", c.file}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("tshark: %v: %s", err, errs.String())
	}
	return out.String()
}
