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

	"sluice/smpp/pdu"
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
//	POST /mo                          InjectMO; an MO
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
		if err := readBody(r, &mo); err != nil {
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
