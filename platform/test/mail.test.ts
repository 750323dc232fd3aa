import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { openTestDatabase } from '@commonplace/adapters/testing';
import { expect, test } from '@jest/globals';
import { openMailLimit } from '../src/mail/limit.js';
import { writeMail } from '../src/mail/message.js';
import { nameInMail } from '../src/mail/names.js';
import { createSmtpTransport, MailRefused } from '../src/mail/transport.js';

const INJECTED = 'Grace\r\nBcc: everybody@example.com\r\n\r\n<script>alert(1)</script>';

/**
 * Starts a mail server that accepts one message, or answers a command otherwise: `answers` has its reply by the
 * command's first word, with `HELLO` for the greeting. Returns what the client has sent.
 */
async function openServer(answers: Readonly<Record<string, string>> = {}) {
  const said: string[] = [];
  const server = createServer((socket) => {
    let isData = false;
    socket.setEncoding('utf8').write(`${answers.HELLO ?? '220 test'}\r\n`);
    socket.on('data', (chunk: string) => {
      said.push(chunk);
      if (isData) {
        if (!said.join('').endsWith('\r\n.\r\n')) return;
        isData = false;
        socket.write(`${answers.TEXT ?? '250 taken'}\r\n`);
      } else if (/^DATA/im.test(chunk)) {
        isData = true;
        socket.write('354 go on\r\n');
      } else if (/^EHLO/i.test(chunk)) socket.write('250-test\r\n250 AUTH PLAIN\r\n');
      else socket.write(`${answers[chunk.split(' ')[0] ?? ''] ?? '250 ok'}\r\n`);
    });
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}?ignoreTLS=true`,
    said: () => said.join(''),
    close: () => server.close(),
  };
}

test('a text from a person cannot begin a header, a recipient or an element of an e-mail', async () => {
  const server = await openServer();
  const transport = createSmtpTransport(server.url, 'wiki@example.com');
  const written = writeMail({
    subject: `${INJECTED} invites you`,
    paragraphs: [`${INJECTED} invites you to Acme.`],
    link: { label: 'Join', url: 'https://wiki.example.com/?a="><b>' },
  });
  await transport.send({ ...written, to: 'ada@example.com, eve@example.com', messageId: '<1@example.com>' });
  transport.close();
  server.close();
  const said = server.said();
  const [head = ''] = said.slice(said.search(/^From:/m)).split('\r\n\r\n');
  expect(head).toMatch(/^Subject: Grace Bcc: everybody@example\.com <script>/m);
  expect(head).not.toMatch(/^(Bcc|Cc):/im);
  expect(said.match(/^RCPT TO:.*/gm)).toHaveLength(1);
  expect(said).not.toMatch(/RCPT TO:<(everybody|eve)@example\.com>/);
  expect(written.html).not.toMatch(/<script|<b>/);
});

test.each([
  ['a recipient that does not exist', { RCPT: '550 5.1.1 no such person' }, true],
  ['a text that is refused', { TEXT: '554 5.7.1 spam' }, true],
  ['a recipient that is accepted later', { RCPT: '451 4.7.1 greylisted' }, false],
  ['a wrong password', { AUTH: '535 5.7.8 wrong credentials' }, false],
  ['a sender that is not allowed', { AUTH: '235 ok', MAIL: '550 5.7.1 sender rejected' }, false],
  ['a sign-in that is missing', { AUTH: '235 ok', RCPT: '530 5.7.0 authentication required' }, false],
  ['a server that takes no mail', { HELLO: '554 no service here' }, false],
])('%s: only what is about the message itself is refused for good', async (_, answers, isFinal) => {
  const server = await openServer({ AUTH: '235 ok', ...answers });
  const transport = createSmtpTransport(
    `smtp://user:secret@127.0.0.1:${server.port}?ignoreTLS=true`,
    'wiki@example.com',
  );
  const written = writeMail({ subject: 'Join', paragraphs: ['Join Acme.'] });
  const error = await transport.send({ ...written, to: 'ada@example.com', messageId: '<1@example.com>' }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  transport.close();
  server.close();
  expect(error).toBeInstanceOf(Error);
  expect(error instanceof MailRefused).toBe(isFinal);
});

test.each([
  ['Ada Lovelace, Dr. h. c.', 'Ada Lovelace, Dr. h. c.'],
  ['Acme.example', 'Acme.\u200bexample'],
  ['Claim http://evil.example/x', 'Claim http:\u200b/\u200b/\u200bevil.\u200bexample/\u200bx'],
  ['mallory@evil.example', 'mallory@\u200bevil.\u200bexample'],
  ['Acme\u202emoc.live\u2066', 'Acmemoc.\u200blive'],
  ['x'.repeat(255), `${'x'.repeat(79)}…`],
])('the name %j is no link in an e-mail to others', (name, shown) => {
  expect(nameInMail(name)).toBe(shown);
});

test('a person and an address have a number of e-mails an hour', async () => {
  const database = await openTestDatabase();
  let at = Date.now();
  const limit = await openMailLimit({ store: database.store('mail'), now: () => at, perSender: 4, perAddress: 2 });
  const admitted = async (senderId: string, to: string) => limit.admits({ senderId, to });
  expect(await Promise.all([1, 2, 3].map(() => admitted('mallory', 'Ada@example.com ')))).toEqual([true, true, false]);
  expect(await admitted('grace', 'ada@example.com')).toBe(false);
  for (const [to, isAdmitted] of Object.entries({ 'bob@x.org': true, 'cy@x.org': true, 'di@x.org': false })) {
    expect([to, await admitted('mallory', to)]).toEqual([to, isAdmitted]);
  }
  at += 3_600_000;
  expect(await admitted('mallory', 'ada@example.com')).toBe(true);
  await database.close();
});
