import { lazyLibrary } from '@commonplace/kit/library';
import type { WrittenMail } from './message.js';

/** Sends one e-mail. Rejects with `MailRefused` if a retry would be pointless. */
export interface MailTransport {
  send(mail: WrittenMail & { readonly to: string; readonly messageId: string }): Promise<void>;
  close(): void;
}

/** Thrown when the mail server has refused a message or its recipient permanently (an SMTP reply of 5xx). */
export class MailRefused extends Error {
  constructor(readonly responseCode: number) {
    super(`the mail server refused the message with ${responseCode}`);
    this.name = 'MailRefused';
  }
}

const library = lazyLibrary<typeof import('nodemailer')>('nodemailer', import.meta.url);

/** Commands whose answer is about one message. All others are about the connection, the account or the sender. */
const ABOUT_MESSAGE: ReadonlySet<string | undefined> = new Set(['RCPT TO', 'DATA']);
/** The server asks for a sign-in or for TLS (RFC 4954, RFC 3207), whatever the command. */
const SIGN_IN_REQUIRED = 530;

const CONNECT_TIMEOUT_MS = 10_000;
const SOCKET_TIMEOUT_MS = 30_000;
const MAX_CONNECTIONS = 2;

/** Opens a pooled connection to an SMTP server when the first message is sent. */
export function createSmtpTransport(smtpUrl: string, from: string): MailTransport {
  const smtp = library().createTransport({
    url: smtpUrl,
    pool: true,
    maxConnections: MAX_CONNECTIONS,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send({ to, messageId, subject, text, html }) {
      const headers = { 'Auto-Submitted': 'auto-generated' };
      // The address is passed as an object, so that a comma in it does not add a second recipient.
      const address = { name: '', address: to };
      await smtp.sendMail({ from, to: address, subject, text, html, messageId, headers }).catch((error: unknown) => {
        throw refusalOf(error as SmtpFailure) ?? error;
      });
    },
    close: () => smtp.close(),
  };
}

interface SmtpFailure {
  readonly responseCode?: number;
  readonly command?: string;
}

/**
 * Returns the error for a message that no retry can deliver; undefined if the answer may change, as that to a wrong
 * password or to a sender that is not allowed does once an operator has corrected the setting or the server.
 */
function refusalOf({ responseCode = 0, command }: SmtpFailure): MailRefused | undefined {
  const isPermanent = responseCode >= 500 && responseCode < 600 && responseCode !== SIGN_IN_REQUIRED;
  return isPermanent && ABOUT_MESSAGE.has(command) ? new MailRefused(responseCode) : undefined;
}
