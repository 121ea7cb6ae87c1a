package queue_test

import (
	"encoding/json"
	"fmt"
	"time"

	"sluice/queue"
)

// What a producer publishes to sms.mt.<route>.<class> is a JSON object; Decode says what is wrong with another one.
func ExampleDecode() {
	b, err := json.Marshal(&queue.Message{ID: "order-1", From: "Sluice", To: "+15550001", Text: "hello", ExpiresIn: 5 * time.Minute})
	fmt.Println(string(b), err)
	m, err := queue.Decode(b)
	fmt.Println(m.Dest().Digits, m.ExpiresIn, err)
	_, err = queue.Decode([]byte(`{"v":1,"to":"+15550001","text":"hello","expires_in":"soon"}`))
	fmt.Println(err)
	// Output:
	// {"v":1,"id":"order-1","from":"Sluice","to":"+15550001","text":"hello","expires_in":"5m0s"} <nil>
	// 15550001 5m0s <nil>
	// malformed message: expires_in: want a duration above 0 and up to 168h, such as "15m"
}
