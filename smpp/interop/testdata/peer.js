// An SMPP peer on the foreign library smpp (npm), under remote control.
//
//   node peer.js serve [DIR]           an SMSC on a free loopback port; prints {"port": N}
//   node peer.js connect PORT [DIR]    a client
//
// With DIR it speaks TLS with the ca.pem, cert.pem and key.pem there, and wants a
// certificate of the other side. What the library read of each PDU is printed as
// one line of JSON; requests are answered. Orders come as lines of JSON:
//
//   {"send": "bind_transceiver", "system_id": S, "password": P}   connects first
//   {"send": "submit_sm", "message": {...}}                        or deliver_sm
//   {"send": "enquire_link"}                                       or unbind, unknown
//   {"refuse": STATUS}                                             the next submit_sm
//
// The end of its input ends it.
'use strict';

const fs = require('fs');
const path = require('path');
const readline = require('readline');
const smpp = require('smpp');

const PASSWORD = 'foreign';
const FIELDS = [
  'system_id', 'password', 'interface_version', 'message_id', 'service_type',
  'source_addr_ton', 'source_addr_npi', 'source_addr', 'dest_addr_ton', 'dest_addr_npi', 'destination_addr',
  'esm_class', 'protocol_id', 'priority_flag', 'registered_delivery', 'data_coding',
  'user_message_reference', 'receipted_message_id', 'message_state',
];

const print = (value) => process.stdout.write(JSON.stringify(value) + '\n');

// absolute writes a Date as the SMPP time that the library read it from.
const absolute = (date) => date.toISOString().replace(/^..(..)-(..)-(..)T(..):(..):(..).*$/, '$1$2$3$4$5$6') + '000+';

function record(pdu) {
  const r = { command: pdu.command, command_status: pdu.command_status, sequence_number: pdu.sequence_number };
  for (const field of FIELDS) {
    if (pdu[field] !== undefined) r[field] = pdu[field];
  }
  if (pdu.validity_period instanceof Date) r.validity_period = absolute(pdu.validity_period);
  if (pdu.short_message) {
    const { udh, message } = pdu.short_message;
    r.text = message.toString();
    if (udh) {
      const elements = Buffer.concat(udh);
      r.udh = Buffer.concat([Buffer.from([elements.length]), elements]).toString('hex');
    }
  }
  return r;
}

let session; // the newest
let refusal = 0;
let submits = 0;

function answer(s, pdu) {
  switch (pdu.command) {
    case 'bind_transceiver':
    case 'bind_transmitter':
    case 'bind_receiver': {
      const status = pdu.password === PASSWORD ? smpp.ESME_ROK : smpp.ESME_RINVPASWD;
      s.send(pdu.response({ command_status: status, system_id: 'foreign' }));
      if (status !== smpp.ESME_ROK) s.close();
      return;
    }
    case 'submit_sm':
      if (refusal !== 0) {
        s.send(pdu.response({ command_status: refusal }));
        refusal = 0;
        return;
      }
      submits += 1;
      s.send(pdu.response({ message_id: `m-${submits}` }));
      return;
    case 'unbind':
      s.send(pdu.response());
      s.close();
      return;
    case 'unbind_resp':
      s.close();
      return;
    default:
      if (!pdu.isResponse()) s.send(pdu.response());
  }
}

function attend(s) {
  session = s;
  s.on('error', (error) => print({ command: 'error', text: String(error) }));
  s.on('close', () => print({ command: 'closed' }));
  s.on('pdu', (pdu) => {
    print(record(pdu));
    answer(s, pdu);
  });
}

function send(order) {
  if (order.send === 'unknown') {
    session.socket.write(Buffer.from('00000010000001ff000000000000f001', 'hex'));
    return;
  }
  const { text, udh, ...fields } = order.message || {};
  if (text !== undefined) {
    fields.short_message = { message: text };
    if (udh) fields.short_message.udh = Buffer.from(udh, 'hex');
  }
  session[order.send](fields);
}

function bind(port, tls, order) {
  const s = smpp.connect({ host: '127.0.0.1', port, ...tls });
  attend(s);
  s.on(tls.tls ? 'secureConnect' : 'connect', () => {
    s[order.send]({ system_id: order.system_id, password: order.password, interface_version: 0x34 });
  });
}

function credentials(dir) {
  if (!dir) return {};
  const read = (name) => fs.readFileSync(path.join(dir, name));
  return {
    tls: true, ca: read('ca.pem'), cert: read('cert.pem'), key: read('key.pem'),
    servername: 'localhost', requestCert: true, rejectUnauthorized: true,
  };
}

const [role, ...rest] = process.argv.slice(2);
const port = role === 'connect' ? Number(rest.shift()) : 0;
const tls = credentials(rest[0]);
if (role === 'serve') {
  const server = smpp.createServer(tls, attend);
  server.on('tlsClientError', (error) => print({ command: 'error', text: String(error) }));
  server.listen(0, '127.0.0.1', () => print({ port: server.address().port }));
}
const orders = readline.createInterface({ input: process.stdin });
orders.on('close', () => process.exit(0));
orders.on('line', (line) => {
  const order = JSON.parse(line);
  if (order.refuse) {
    refusal = order.refuse;
    print({ command: 'refusing' });
  } else if (order.send.startsWith('bind_')) {
    bind(port, tls, order);
  } else {
    send(order);
  }
});
