package classify_test

import (
	"fmt"

	"sluice/classify"
	"sluice/smpp/pdu"
)

// A status gets its class from the table; an operator's override comes before it.
func ExampleTable_Of() {
	table, err := classify.Default().With("", map[string]classify.Override{"0x45": {Class: classify.Throttle}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, status := range []pdu.Status{pdu.StatusThrottled, pdu.StatusSysErr, 0x45, 0x0B} {
		v := table.Of(classify.Submit, status)
		fmt.Println(v.Name, v.Class, "by the", v.Origin)
	}
	// Output:
	// ESME_RTHROTTLED throttle by the default table
	// ESME_RSYSERR retry by the default table
	// ESME_RSUBMITFAIL throttle by the account override
	// ESME_RINVDSTADR terminal by the default table
}
