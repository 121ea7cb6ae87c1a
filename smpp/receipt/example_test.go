package receipt_test

import (
	"fmt"

	"sluice/smpp/receipt"
)

// The text of a receipt is read as SMPP 3.4 appendix B writes it, and as the many SMSCs that write it otherwise do.
func ExampleParse() {
	r := receipt.Parse(receipt.Input{
		Text: []byte("id:00AB12 sub:001 dlvrd:001 submit date:2601021504 done date:2601021505 stat:DELIVRD err:000 text:hello"),
	}, receipt.Options{})
	fmt.Println(r.ID, r.State, r.Err, r.Done.Sub(r.Submitted))
	fmt.Println(receipt.Keys(r.ID, receipt.Opaque))
	// Output:
	// 00AB12 delivered 000 1m0s
	// [00AB12 00ab12 ab12]
}
