package pdu_test

import (
	"fmt"

	"sluice/smpp/pdu"
)

// A message is written behind what the buffer holds, and read back in place.
func ExampleAppend() {
	validity, err := pdu.AppendRelativeTime(nil, 3600)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := pdu.Append(nil, pdu.StatusOK, 1, &pdu.SubmitSM{
		Source:             pdu.Address{TON: 5, Addr: []byte("ACME")},
		Dest:               pdu.Address{TON: 1, NPI: 1, Addr: []byte("15550001")},
		ValidityPeriod:     validity,
		RegisteredDelivery: pdu.RegisteredReceipt,
		ShortMessage:       []byte("hello"),
		TLVs:               pdu.TLVs{pdu.Uint16TLV(pdu.TagUserMessageReference, 7)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	h, err := pdu.ParseHeader(out)
	if err != nil {
		fmt.Println(err)
		return
	}
	var sm pdu.SubmitSM // to be reused for the next one
	if err := sm.ParseBody(out[pdu.HeaderLen:h.Length]); err != nil {
		fmt.Println(err)
		return
	}
	ref, _ := sm.TLVs.Uint16(pdu.TagUserMessageReference)
	fmt.Printf("%s of %d octets from %s: %s, valid for %s, reference %d\n",
		h.ID, h.Length, sm.Source.Addr, sm.ShortMessage, sm.ValidityPeriod, ref)
	// Output: submit_sm of 72 octets from ACME: hello, valid for 000000010000000R, reference 7
}

// A field over its limit is named, with lengths and without its content.
func ExampleFieldError() {
	_, err := pdu.Append(nil, pdu.StatusOK, 1, &pdu.SubmitSM{
		Source: pdu.Address{Addr: []byte("a sender of more than 20 octets")},
	})
	fmt.Println(err)
	// Output: pdu: submit_sm: source_addr has length 31, the limit is 20
}
