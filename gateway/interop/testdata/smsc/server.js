// An SMSC on the foreign library smpp (npm), for the interop tests.
//
//   node server.js --mode bucket        100 submits a second, bucket of 10, 0x58 above, answers after 5 to 20 ms;
//                                       says in its bind_resp that it knows SMPP 3.4
//   node server.js --mode outstanding   5 submits at once, 0x14 above, answers after 50 to 100 ms in any order;
//                                       says nothing of its version
//
// It listens on free loopback ports, prints {"smpp": PORT, "http": PORT} on one
// line, and serves its ledger as JSON at http://127.0.0.1:PORT/. SIGTERM ends it.
'use strict';

const http = require('http');
const smpp = require('smpp');

const SYSTEM_ID = 'interop';
const PASSWORD = 'foreign';

// random is mulberry32: the same answers in every run.
let seed = 20240601;
function random() {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}

const between = (low, high) => low + random() * (high - low);

// A limiter says for each submit whether it is refused, with which status, and
// after how many milliseconds it is answered; done follows the answer.
function bucket(rate, depth) {
  let tokens = depth;
  let at = process.hrtime.bigint();
  return {
    arrive() {
      const now = process.hrtime.bigint();
      tokens = Math.min(depth, tokens + (Number(now - at) / 1e9) * rate);
      at = now;
      const status = tokens >= 1 ? smpp.ESME_ROK : smpp.ESME_RTHROTTLED;
      if (status === smpp.ESME_ROK) tokens -= 1;
      return { status, after: between(5, 20) };
    },
    done() {},
  };
}

function outstanding(most) {
  let held = 0;
  return {
    arrive() {
      const status = held < most ? smpp.ESME_ROK : smpp.ESME_RMSGQFUL;
      if (status === smpp.ESME_ROK) held += 1;
      return { status, after: between(50, 100) };
    },
    done(status) {
      if (status === smpp.ESME_ROK) held -= 1;
    },
  };
}

const limiters = {
  bucket: () => bucket(100, 10),
  outstanding: () => outstanding(5),
};

const ledger = {
  binds: 0,
  refused_binds: 0,
  unbinds: 0,
  submits: 0,
  accepted: 0,
  refused: {}, // by status, "0x58"
  unmarked: 0, // submits without user_message_reference
  without_validity: 0,
  most_unanswered: 0,
  first: 0, // milliseconds since the epoch
  last: 0,
  by_second: [], // accepted in each second since the first submit
  messages: {}, // accepted, by "destination text"
};

let unanswered = 0;
let nextID = 0;

function submit(session, limiter, pdu) {
  const now = Date.now();
  const { status, after } = limiter.arrive();
  ledger.submits += 1;
  ledger.first = ledger.first || now;
  ledger.last = now;
  if (pdu.user_message_reference === undefined) ledger.unmarked += 1;
  if (!pdu.validity_period) ledger.without_validity += 1;
  unanswered += 1;
  ledger.most_unanswered = Math.max(ledger.most_unanswered, unanswered);
  const answer = { command_status: status };
  if (status === smpp.ESME_ROK) {
    const text = pdu.short_message.message.toString();
    const key = `${pdu.destination_addr} ${text}`;
    const second = Math.floor((now - ledger.first) / 1000);
    while (ledger.by_second.length <= second) ledger.by_second.push(0);
    ledger.by_second[second] += 1;
    ledger.accepted += 1;
    ledger.messages[key] = (ledger.messages[key] || 0) + 1;
    nextID += 1;
    answer.message_id = `f-${nextID}`;
  } else {
    const name = '0x' + status.toString(16).padStart(2, '0');
    ledger.refused[name] = (ledger.refused[name] || 0) + 1;
  }
  setTimeout(() => {
    unanswered -= 1;
    limiter.done(status);
    session.send(pdu.response(answer));
  }, after);
}

function serve(limiter, version) {
  return smpp.createServer((session) => {
    session.on('error', () => session.destroy());
    const bind = (pdu) => {
      const ok = pdu.system_id === SYSTEM_ID && pdu.password === PASSWORD;
      ledger[ok ? 'binds' : 'refused_binds'] += 1;
      const answer = { command_status: ok ? smpp.ESME_ROK : smpp.ESME_RINVPASWD, system_id: 'foreign' };
      if (version) answer.sc_interface_version = version;
      session.send(pdu.response(answer));
      if (!ok) session.close();
    };
    session.on('bind_transceiver', bind);
    session.on('bind_transmitter', bind);
    session.on('submit_sm', (pdu) => submit(session, limiter, pdu));
    session.on('enquire_link', (pdu) => session.send(pdu.response()));
    session.on('unbind', (pdu) => {
      ledger.unbinds += 1;
      session.send(pdu.response());
      session.close();
    });
  });
}

function main() {
  const mode = process.argv[process.argv.indexOf('--mode') + 1];
  if (!limiters[mode]) {
    console.error(`--mode must be one of ${Object.keys(limiters).join(', ')}`);
    process.exit(2);
  }
  const smsc = serve(limiters[mode](), mode === 'bucket' ? 0x34 : undefined);
  const web = http.createServer((request, response) => {
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify(ledger));
  });
  smsc.listen(0, '127.0.0.1', () => {
    web.listen(0, '127.0.0.1', () => {
      console.log(JSON.stringify({ smpp: smsc.address().port, http: web.address().port }));
    });
  });
  process.on('SIGTERM', () => process.exit(0));
}

main();
