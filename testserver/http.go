package testserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf16"

	"sluice/smpp/pdu"
	"sluice/smpp/text"
)

// maxBody bounds a request body, in octets.
const maxBody = 1 << 20

// Handler serves what the methods of Server do over HTTP, in JSON. Bodies may be JSON or YAML, with the keys of the
// scenario file.
//
//	GET  /stats                       Stats
//	GET  /ledger                      Records; after, system_id, destination, key, status, duplicate, unanswered, limit
//	GET  /binds                       Binds
//	GET  /capacity                    Capacity; system_id, from and to in RFC 3339
//	POST /limit                       SetLimits; a list of limits
//	POST /scenario                    SetScenario; a whole scenario
//	POST /mo                          InjectMO; an MO with text in UTF-8, sent under its data_coding (0, 1, 3, 8), or hex
//	POST /disconnect                  Disconnect; bind (0 or absent: all), how (fin, rst, unbind)
//	POST /reset                       Reset
//
// A request that cannot be carried out is answered with 4xx and {"error": "..."}.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, do func(r *http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			result, err := do(r)
			respondJSON(w, result, err)
		})
	}
	handle("GET /stats", func(*http.Request) (any, error) { return s.Stats(), nil })
	handle("GET /binds", func(*http.Request) (any, error) { return s.Binds(), nil })
	handle("GET /ledger", func(r *http.Request) (any, error) {
		q, err := readQuery(r.URL.Query())
		if err != nil {
			return nil, err
		}
		return s.Records(q), nil
	})
	handle("GET /capacity", s.capacityOver)
	handle("POST /limit", func(r *http.Request) (any, error) {
		var limits []Limit
		if err := readBody(r, &limits); err != nil {
			return nil, err
		}
		return done{len(limits)}, s.SetLimits(limits...)
	})
	handle("POST /scenario", func(r *http.Request) (any, error) {
		var sc Scenario
		if err := readBody(r, &sc); err != nil {
			return nil, err
		}
		return done{1}, s.SetScenario(sc)
	})
	handle("POST /mo", func(r *http.Request) (any, error) {
		var mo MO
		err := readBody(r, &mo)
		if err != nil {
			return nil, err
		}
		if mo.Text, err = octetsOf(mo.Text, mo.DataCoding); err != nil {
			return nil, err
		}
		return done{1}, s.InjectMO(mo)
	})
	handle("POST /disconnect", s.disconnectOver)
	handle("POST /reset", func(*http.Request) (any, error) {
		s.Reset()
		return done{1}, nil
	})
	return mux
}

// octetsOf writes a text in the alphabet of its data_coding (SMPP 3.4 section 5.2.19).
func octetsOf(s string, dataCoding uint8) (string, error) {
	limit := rune(0x7F)
	switch dataCoding {
	case 0:
		octets, ok := text.AppendGSM7(nil, s)
		if !ok {
			return "", errors.New("text: has a character that GSM 7-bit lacks: use data_coding 8, or hex")
		}
		return string(octets), nil
	case 1:
	case 3:
		limit = 0xFF
	case 8:
		var octets []byte
		for _, unit := range utf16.Encode([]rune(s)) {
			octets = append(octets, byte(unit>>8), byte(unit))
		}
		return string(octets), nil
	default:
		if s == "" {
			return "", nil
		}
		return "", fmt.Errorf("text: data_coding 0x%02X has no alphabet that is known here: give the octets as hex", dataCoding)
	}
	octets := make([]byte, 0, len(s))
	for _, r := range s {
		if r > limit {
			return "", fmt.Errorf("text: has a character that data_coding %d lacks: use data_coding 8, or hex", dataCoding)
		}
		octets = append(octets, byte(r))
	}
	return string(octets), nil
}

// done says how many things a request has changed.
type done struct {
	Done int `json:"done"`
}

func respondJSON(w http.ResponseWriter, result any, err error) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case errors.Is(err, ErrNoReceiver):
		w.WriteHeader(http.StatusConflict)
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
	}
	if err != nil {
		result = map[string]string{"error": err.Error()}
	}
	_ = json.NewEncoder(w).Encode(result) // the client has gone: nobody to tell
}

func readBody(r *http.Request, into any) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return fmt.Errorf("body: %w", err)
	}
	return decode(body, into)
}

// readQuery reads what GET /ledger was asked for.
func readQuery(values url.Values) (Query, error) {
	q := Query{
		SystemID: values.Get("system_id"), Destination: values.Get("destination"), Key: values.Get("key"),
		Duplicate: values.Get("duplicate") == "true", Unanswered: values.Get("unanswered") == "true",
	}
	after, err := number(values, "after", 64)
	if err != nil {
		return Query{}, err
	}
	limit, err := number(values, "limit", 31)
	if err != nil {
		return Query{}, err
	}
	q.After, q.Limit = after, int(limit)
	if values.Has("status") {
		status, err := number(values, "status", 32)
		if err != nil {
			return Query{}, err
		}
		q.Status = new(pdu.Status)
		*q.Status = pdu.Status(status)
	}
	return q, nil
}

// number reads a number, decimal or 0x…, that is 0 when absent.
func number(values url.Values, name string, bits int) (uint64, error) {
	text := values.Get(name)
	if text == "" {
		return 0, nil
	}
	value, err := strconv.ParseUint(text, 0, bits)
	if err != nil {
		return 0, fmt.Errorf("%s: %q: write a number such as 88 or 0x58", name, text)
	}
	return value, nil
}

func (s *Server) disconnectOver(r *http.Request) (any, error) {
	values := r.URL.Query()
	bind, err := number(values, "bind", 31)
	if err != nil {
		return nil, err
	}
	how := How(values.Get("how"))
	switch how {
	case "":
		how = FIN
	case FIN, RST, Unbind:
	default:
		return nil, fmt.Errorf("how: %q: write one of fin, rst, unbind", string(how))
	}
	return done{s.Disconnect(int(bind), how)}, nil
}

func (s *Server) capacityOver(r *http.Request) (any, error) {
	values := r.URL.Query()
	var moments [2]time.Time
	for i, name := range []string{"from", "to"} {
		moment, err := time.Parse(time.RFC3339Nano, values.Get(name))
		if err != nil {
			return nil, fmt.Errorf("%s: %q: write a time such as 2026-01-31T12:00:00Z", name, values.Get(name))
		}
		moments[i] = moment
	}
	return map[string]float64{"messages": s.Capacity(values.Get("system_id"), moments[0], moments[1])}, nil
}
