import { defineSettings, mailbox, url } from '@commonplace/kit/config';

/** Settings of e-mail, the same for every service that sends e-mail. */
export const MAIL_SETTINGS = defineSettings({
  smtpUrl: {
    help: 'SMTP server that sends e-mail: smtp://user:password@host:587 or smtps://…; no e-mail is sent without it',
    parse: url('smtp', 'smtps'),
    connects: true,
    fallback: undefined as string | undefined,
    secret: true,
  },
  mailFrom: {
    help: "sender of e-mail, e.g. 'Wiki <wiki@example.com>'; commonplace@ the host of the public URL when not set",
    parse: mailbox,
    fallback: undefined as string | undefined,
  },
});
