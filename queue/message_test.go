package queue

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

const contractExample = `{"v":1,"id":"order-8812-ship","from":"ACME","to":"+15550100",` +
	`"text":"Your parcel left today.","receipt":true,"expires_in":"15m"}`

func TestDecodeTheContractsExample(t *testing.T) {
	m, err := Decode([]byte(contractExample))
	if err != nil {
		t.Fatal(err)
	}
	want := &Message{
		ID: "order-8812-ship", From: "ACME", To: "+15550100", Text: "Your parcel left today.",
		Receipt: true, ExpiresIn: 15 * time.Minute,
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("got %+v\nwant %+v", m, want)
	}
}

func fullMessage() *Message {
	return &Message{
		ID: "id-1", From: "12345", To: "+15550100", FromTON: new(uint8(3)), FromNPI: new(uint8(0)), ToTON: new(uint8(1)), ToNPI: new(uint8(1)),
		Text: "caf\u00e9 \"quoted\" \\ \n\u20ac \U0001F4E6", Encoding: EncodingUCS2,
		UDH: []byte{4, 0, 3, 1, 2}, Receipt: true, ExpiresAt: time.Date(2026, 11, 30, 8, 15, 0, 5, time.UTC), IfUnknown: UnknownHold,
		ServiceType: "CMT", ProtocolID: new(uint8(0x40)), PriorityFlag: new(uint8(0)), ReplaceIfPresent: true,
		TLVs: []TLV{{"0x1401", []byte{0, 255}}, {"user_response_code", []byte{7}}, {"5121", []byte{}}}, Tenant: "t_1",
		Meta: map[string]string{"order": "8812", "uml\u00e4ut": "\u2603"},
	}
}

func TestEncodeAndDecodeAgree(t *testing.T) {
	for _, m := range []*Message{
		fullMessage(),
		{To: "4412345678901", Data: []byte{1, 2, 3}, DataCoding: new(uint8(4))},
		{To: "1", Data: []byte{0xFF}, Encoding: EncodingBinary, ExpiresIn: 36*time.Hour + time.Millisecond},
	} {
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(b)
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if !reflect.DeepEqual(got, m) {
			t.Errorf("%s\ngot  %+v\nwant %+v", b, got, m)
		}
	}
}

func TestDecodeNamesFieldAndFault(t *testing.T) {
	valid := `"to":"+15550100","text":"secret text"`
	for name, tc := range map[string]struct{ in, field string }{
		"empty":                 {``, ""},
		"no object":             {`[1]`, ""},
		"two objects":           {`{} {}`, ""},
		"cut off":               {`{"to":"+15550100","te`, ""},
		"no to":                 {`{"text":"x"}`, "to"},
		"to is a number":        {`{"to":15550100,"text":"x"}`, "to"},
		"to is null":            {`{"to":null,"text":"x"}`, "to"},
		"to too long":           {`{"to":"+123456789012345678901","text":"x"}`, "to"},
		"to a name":             {`{"to":"ACME","text":"x"}`, "to"},
		"to with spaces":        {`{"to":"+1 15550100","text":"x"}`, "to"},
		"to a lone plus":        {`{"to":"+","text":"x"}`, "to"},
		"to two pluses":         {`{"to":"++15550100","text":"x"}`, "to"},
		"to 21 digits":          {`{"to":"123456789012345678901","text":"x"}`, "to"},
		"to foreign digits":     {`{"to":"\u0661\u0662","text":"x"}`, "to"},
		"to long with a ton":    {`{"to":"ABCDEFGHIJKLMNOPQRSTU","to_ton":5,"text":"x"}`, "to"},
		"to control with a ton": {`{"to":"a\u0007","to_ton":5,"text":"x"}`, "to"},
		"to empty with a ton":   {`{"to":"","to_ton":5,"text":"x"}`, "to"},
		"from a lone plus":      {`{` + valid + `,"from":"+"}`, "from"},
		"from with a space":     {`{` + valid + `,"from":"+1555 15550100"}`, "from"},
		"from plus and letters": {`{` + valid + `,"from":"+ACME"}`, "from"},
		"from 21 digits":        {`{` + valid + `,"from":"+123456789012345678901"}`, "from"},
		"from control":          {`{` + valid + `,"from":"AC\u001bME"}`, "from"},
		"text with data_coding": {`{` + valid + `,"data_coding":0}`, "data_coding"},
		"to not ascii":          {`{"to":"+1555\u00e9","text":"x"}`, "to"},
		"from too long":         {`{` + valid + `,"from":"ABCDEFGHIJKLMNOPQRSTU"}`, "from"},
		"neither text nor data": {`{"to":"+15550100"}`, "text"},
		"both text and data":    {`{` + valid + `,"data":"AAAA","data_coding":4}`, "text"},
		"text not UTF-8":        {"{\"to\":\"+15550100\",\"text\":\"a\xff\"}", "text"},
		"text cut in a pair":    {`{"to":"+15550100","text":"secret text \ud83d"}`, "text"},
		"text a second half":    {`{"to":"+15550100","text":"\ude00"}`, "text"},
		"text halves apart":     {`{"to":"+15550100","text":"\uD83D \uDE00"}`, "text"},
		"text two first halves": {`{"to":"+15550100","text":"\ud83d\ud83d\ude00"}`, "text"},
		"meta cut in a pair":    {`{` + valid + `,"meta":{"a":"\ud83d"}}`, "meta"},
		"text as binary":        {`{` + valid + `,"encoding":"binary"}`, "text"},
		"data without coding":   {`{"to":"+15550100","data":"AAAA"}`, "data_coding"},
		"data not base64":       {`{"to":"+15550100","data":"%%","data_coding":4}`, "data"},
		"data empty":            {`{"to":"+15550100","data":"","data_coding":4}`, "data"},
		"data_coding over 255":  {`{"to":"+15550100","data":"AA==","data_coding":256}`, "data_coding"},
		"data_coding fraction":  {`{"to":"+15550100","data":"AA==","data_coding":1.5}`, "data_coding"},
		"encoding":              {`{` + valid + `,"encoding":"utf8"}`, "encoding"},
		"udh not hex":           {`{` + valid + `,"udh":"0"}`, "udh"},
		"udh length octet":      {`{` + valid + `,"udh":"0500"}`, "udh"},
		"receipt as text":       {`{` + valid + `,"receipt":"true"}`, "receipt"},
		"expires_in zero":       {`{` + valid + `,"expires_in":"0s"}`, "expires_in"},
		"expires_in over 7 d":   {`{` + valid + `,"expires_in":"168h1s"}`, "expires_in"},
		"expires_in as number":  {`{` + valid + `,"expires_in":900}`, "expires_in"},
		"expires_at":            {`{` + valid + `,"expires_at":"tomorrow"}`, "expires_at"},
		"both expiries":         {`{` + valid + `,"expires_in":"1m","expires_at":"2026-11-30T08:15:00Z"}`, "expires_in"},
		"if_unknown":            {`{` + valid + `,"if_unknown":"drop"}`, "if_unknown"},
		"id too long":           {`{` + valid + `,"id":"` + strings.Repeat("x", 129) + `"}`, "id"},
		"id not printable":      {`{` + valid + `,"id":"a\u0000"}`, "id"},
		"service_type":          {`{` + valid + `,"service_type":"ABCDEF"}`, "service_type"},
		"priority_flag":         {`{` + valid + `,"priority_flag":5}`, "priority_flag"},
		"tlvs no list":          {`{` + valid + `,"tlvs":{}}`, "tlvs"},
		"tlv no object":         {`{` + valid + `,"tlvs":[7]}`, "tlvs"},
		"tlv without tag":       {`{` + valid + `,"tlvs":[{"hex":"00"}]}`, "tlvs"},
		"tlv value":             {`{` + valid + `,"tlvs":[{"tag":"0x1401","hex":"zz"}]}`, "tlvs"},
		"tenant":                {`{` + valid + `,"tenant":"a.b"}`, "tenant"},
		"meta of numbers":       {`{` + valid + `,"meta":{"a":1}}`, "meta"},
		"meta no object":        {`{` + valid + `,"meta":[]}`, "meta"},
		"given twice":           {`{` + valid + `,"to":"+15550101"}`, "to"},
		"version zero":          {`{"v":0,` + valid + `}`, "v"},
		"version as text":       {`{"v":"1",` + valid + `}`, "v"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode([]byte(tc.in))
			var malformed *MalformedError
			if !errors.As(err, &malformed) {
				t.Fatalf("%v (%T), want a MalformedError", err, err)
			}
			if malformed.Field != tc.field || malformed.Fault == "" {
				t.Errorf("field %q, fault %q; want field %q", malformed.Field, malformed.Fault, tc.field)
			}
			for _, private := range []string{"secret text", "15550100"} {
				if strings.Contains(err.Error(), private) {
					t.Errorf("the error repeats %q: %v", private, err)
				}
			}
		})
	}
}

func TestValidateTakesAddresses(t *testing.T) {
	digits := strings.Repeat("9", maxAddress)
	for name, m := range map[string]Message{
		"one digit":                 {To: "1"},
		"20 digits":                 {To: digits},
		"plus and 20 digits":        {To: "+" + digits},
		"a name to a ton":           {To: "ACME", ToTON: new(uint8(5))},
		"a space to a ton":          {To: "+1555 0177", ToTON: new(uint8(0))},
		"from a name":               {To: "1", From: "ACME 24"},
		"from a name of 20":         {To: "1", From: "ABCDEFGHIJKLMNOPQRST"},
		"from a name with a plus":   {To: "1", From: "A+B"},
		"from plus and 20 digits":   {To: "1", From: "+" + digits},
		"from a lone plus to a ton": {To: "1", From: "+", FromTON: new(uint8(5))},
	} {
		m.Text = "x"
		if err := m.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnknownVersionSaysWhatIsKnown(t *testing.T) {
	_, err := Decode([]byte(`{"to":"1","text":"x","v":2}`))
	if want := "v: a version of the message that is not known; want at most 1"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestDecodeUnknownFields(t *testing.T) {
	for in, field := range map[string]string{
		`{"to":"1","text":"x","expires_im":"15m"}`:                            "expires_im",
		`{"to":"1","text":"x","Text":"y"}`:                                    "Text",
		`{"to":"1","text":"x","v":2}`:                                         "v",
		`{"to":"1","text":"x","tlvs":[{"tag":"1","hex":"","size":2}]}`:        "tlvs.size",
		`{"to":"1","text":"x","` + strings.Repeat("y", 32) + `":[{"a":"]"}]}`: strings.Repeat("y", 32),
		`{"to":"1","text":"x","_ref_1234":1}`:                                 "_ref_1234",
		`{"to":"1","text":"x","` + strings.Repeat("y", 33) + `":[{"a":"]"}]}`: "",
		`{"to":"1","text":"x","ref_12345":1}`:                                 "",
		`{"to":"1","text":"x","1ref":1}`:                                      "",
		`{"to":"1","text":"x","":1}`:                                          "",
		`{"to":"1","text":"x","a\u000ab":1}`:                                  "",
		`{"to":"1","text":"x","a.b":1}`:                                       "",
		`{"to":"1","text":"x","secret text":1}`:                               "",
		`{"to":"1","text":"x","+15550100":1}`:                                 "",
		`{"to":"1","text":"x","\u00fcber":1}`:                                 "",
		`{"to":"1","text":"x","tlvs":[{"tag":"1","hex":"","15550100":2}]}`:    "",
	} {
		_, err := Decode([]byte(in))
		var unknown *UnknownFieldError
		if !errors.As(err, &unknown) || unknown.Field != field {
			t.Errorf("%s: %v, want the unknown field %q", in, err, field)
			continue
		}
		if hidden := strings.Contains(err.Error(), "a field whose name is not shown"); hidden != (field == "") {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestDecodeKeepsTheIDOfAMalformedMessage(t *testing.T) {
	m, err := decode([]byte(`{"to":7,"id":"order-1","text":"x"}`))
	if err == nil || m.ID != "order-1" {
		t.Errorf("id %q, error %v", m.ID, err)
	}
}

func TestDeadline(t *testing.T) {
	stored := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	at := stored.Add(3 * time.Hour)
	for name, tc := range map[string]struct {
		m    Message
		def  time.Duration
		want time.Time
	}{
		"none":          {Message{}, 0, time.Time{}},
		"route default": {Message{}, time.Hour, stored.Add(time.Hour)},
		"relative":      {Message{ExpiresIn: time.Minute}, time.Hour, stored.Add(time.Minute)},
		"absolute":      {Message{ExpiresAt: at}, time.Hour, at},
	} {
		if got := tc.m.Deadline(stored, tc.def); !got.Equal(tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func TestInferAddress(t *testing.T) {
	for in, want := range map[string]Address{
		"":                      {"", 0, 0},
		"+15550100":             {"15550100", 1, 1},
		"12345":                 {"12345", 3, 0},
		"12345678":              {"12345678", 3, 0},
		"123456789":             {"123456789", 0, 1},
		"ACME":                  {"ACME", 5, 0},
		"ACME 24":               {"ACME 24", 5, 0},
		"+":                     {"+", 5, 0},
		"+1555x":                {"+1555x", 5, 0},
		"++1":                   {"++1", 5, 0},
		"\u0661\u0662\u0663456": {"\u0661\u0662\u0663456", 5, 0},
	} {
		m := Message{To: in, From: in}
		if got := m.Dest(); got != want {
			t.Errorf("%q: %+v, want %+v", in, got, want)
		}
		if got := m.Source(); got != want {
			t.Errorf("source %q: %+v, want %+v", in, got, want)
		}
	}
	m := Message{To: "+15550100", ToTON: new(uint8(2)), ToNPI: new(uint8(8))}
	if got := m.Dest(); got != (Address{"15550100", 2, 8}) {
		t.Errorf("overridden: %+v", got)
	}
}

// FuzzDecode compares the walk over the object with the library: where both
// take a message they read the same strings, and what the walk takes is JSON.
func FuzzDecode(f *testing.F) {
	full, err := json.Marshal(fullMessage())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(full)
	f.Add([]byte(contractExample))
	f.Add([]byte(`{"to":"1","text":"\ud83d\udce6 \u20ac","meta":{"a":"}","b":"\\"}, "tlvs":[{"tag":1,"hex":""}] }`))
	f.Add([]byte(`{"to":"1","text":"x","meta":{},"tlvs":[],"udh":""}`))
	f.Add([]byte(`{"to":"1","text":"x","meta":{"a":""},"tlvs":[{"tag":0}]}`))
	f.Add([]byte("{\"to\" :\t\"1\"\n,\"text\":\"[{\\\"\"}"))
	f.Fuzz(func(t *testing.T, in []byte) {
		before := bytes.Clone(in)
		m, err := Decode(in)
		if !bytes.Equal(in, before) {
			t.Fatal("the input was changed")
		}
		if err != nil {
			return
		}
		var want struct{ ID, From, To, Text, Tenant string }
		if err := json.Unmarshal(in, &want); err != nil {
			t.Fatalf("the library refuses what Decode takes: %v", err)
		}
		if m.ID != want.ID || m.From != want.From || m.To != want.To || m.Text != want.Text || m.Tenant != want.Tenant {
			t.Fatalf("got %+v, the library %+v", m, want)
		}
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		m2, err := Decode(again)
		if err != nil {
			t.Fatalf("a second round: %v", err)
		}
		if third, err := json.Marshal(m2); err != nil || !bytes.Equal(again, third) { // empty and absent are the same here
			t.Fatalf("a second round: %s, %v; want %s", third, err, again)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	in := []byte(contractExample)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(in); err != nil {
			b.Fatal(err)
		}
	}
}

func TestDecodeTakesEscapedPairs(t *testing.T) {
	for in, want := range map[string]string{
		`\ud83d\ude00`: "😀", `a\uD83D\uDE00\uD83D\uDE00\n`: "a😀😀\n", `\\ud83d`: `\ud83d`, `\ufffd`: "\ufffd", `\"\u00e9`: `"é`,
	} {
		m, err := Decode([]byte(`{"to":"+15550100","text":"` + in + `"}`))
		if err != nil || m.Text != want {
			t.Errorf("%s: %v, %v; want %q", in, m, err, want)
		}
	}
}

// The header stands for what the payload says, and is no way round the longest life.
func TestDeadlineOfTheHeaderIsChecked(t *testing.T) {
	published := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	for at, want := range map[string]string{
		"tomorrow":             "want a time as in RFC 3339",
		"9999-12-31T00:00:00Z": "want a time at most 168h after the message was published",
		"2026-12-07T09:00:01Z": "want a time at most 168h after the message was published",
		"2026-12-07T08:00:01Z": "", // a clock that is a second ahead
		"2001-01-01T00:00:00Z": "", // expired
	} {
		d := &delivery{
			header: nats.Header{HeaderExpiresAt: {at}}, published: published,
			message: &Message{ExpiresAt: published.Add(1000 * time.Hour)},
		}
		var fault *MalformedError
		if err := d.faultOfEnvelope(); want == "" && err != nil || want != "" && !errors.As(err, &fault) {
			t.Errorf("%s: %v", at, err)
		} else if fault != nil && (fault.Field != "header Sluice-Expires-At" || fault.Fault != want) {
			t.Errorf("%s: field %q, fault %q", at, fault.Field, fault.Fault)
		}
	}
}
