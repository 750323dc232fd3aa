import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { expect, test } from '@jest/globals';
import { writeMail } from '../src/mail/message.js';
import { createSmtpTransport } from '../src/mail/transport.js';

const INJECTED = 'Grace\r\nBcc: everybody@example.com\r\n\r\n<script>alert(1)</script>';

/** Starts a mail server that accepts one message. Returns what the client has sent. */
async function openServer() {
  const said: string[] = [];
  const server = createServer((socket) => {
    let isData = false;
    socket.setEncoding('utf8').write('220 test\r\n');
    socket.on('data', (chunk: string) => {
      said.push(chunk);
      if (isData) {
        if (!said.join('').endsWith('\r\n.\r\n')) return;
        isData = false;
        socket.write('250 taken\r\n');
      } else if (/^DATA/im.test(chunk)) {
        isData = true;
        socket.write('354 go on\r\n');
      } else socket.write('250 ok\r\n');
    });
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
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
