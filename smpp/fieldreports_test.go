package smpp

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fieldReports are public bug reports about SMPP clients, gateways and servers, by the number that the names of their
// tests begin with: TestF17… is about report F17. A number that is missing belongs to a report that repeats another.
func fieldReports() map[string]string {
	return map[string]string{
		"F02": "no reply in time: the message is neither retried nor reported",
		"F06": "an overrun window is answered with a status of its own",
		"F07": "the second part of a long text is throttled",
		"F09": "the socket closes between the slot and the write",
		"F11": "all parts of a long text share one sequence number",
		"F12": "the first PDU has sequence number 0",
		"F14": "an unknown PDU is not answered",
		"F16": "replies are paired by their order",
		"F17": "the peer keeps a ghost of the bind and answers 0x05",
		"F18": "TCP is dropped without unbind",
		"F19": "an unbind of the SMSC is ignored",
		"F20": "quick rebinds are counted, and the address is banned",
		"F21": "a wrong password is tried for ever",
		"F22": "a short read is taken as a whole PDU",
		"F23": "of several PDUs in one read only the first is handled",
		"F24": "octets of another protocol are read as a length",
		"F25": "after an impossible length the reader guesses",
		"F27": "a cut-off TLV loses the receipt",
		"F28": "an unknown TLV in a reply stops the client",
		"F29": "an error response with a body, or without one, kills the parser",
		"F31": "a receipt on another bind is of an unknown id",
		"F32": "message ids come in hex or decimal, padded or not",
		"F33": "the text is in message_payload alone",
		"F34": "receipts come as data_sm",
		"F35": "receipts are not acknowledged, or before they are stored",
		"F37": "a dead link is not seen",
		"F38": "enquire_link times out although its reply is there",
		"F39": "reconnects leak sockets and goroutines",
		"F40": "parts of one text are spread over binds",
		"F41": "submit_multi_resp without a body",
		"F42": "sm_length runs beyond the PDU",
		"F43": "UCS2 is cut at an odd octet",
		"F44": "TLS to a plain port, or the reverse",
		"F45": "a working account is suddenly answered 0x03",
	}
}

func TestEveryFieldReportHasATest(t *testing.T) {
	tests := map[string]int{}
	name := regexp.MustCompile(`(?m)^func Test(F\d\d)[A-Z_]\w*\(t \*testing\.T\)`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, found := range name.FindAllSubmatch(source, -1) {
			tests[string(found[1])]++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	reports := fieldReports()
	for number, about := range reports {
		if tests[number] == 0 {
			t.Errorf("report %s (%s) has no test", number, about)
		}
	}
	for number := range tests {
		if reports[number] == "" {
			t.Errorf("there are tests named after a report %s, which is not listed", number)
		}
	}
}
