import { type Mail, nameInMail } from '@commonplace/platform/mail';

type Content = Omit<Mail, 'to'>;

/** Builds the e-mails of this service. */
export interface Mails {
  passwordReset(name: string, token: string, minutes: number): Content;
  passwordChanged(name: string): Content;
  /** Tells the owner of an address what the reset of an account with the address, until then not verified, has ended. */
  accountReclaimed(name: string): Content;
  secondFactorChanged(name: string, how: keyof typeof SECOND_FACTOR): Content;
  verification(name: string, token: string): Content;
}

const SECOND_FACTOR = {
  totp_added: 'An authenticator app was added to your account',
  totp_removed: 'The authenticator app of your account was removed',
  recovery_codes_renewed: 'The recovery codes of your account were replaced',
  passkey_added: 'A passkey was added to your account',
  passkey_removed: 'A passkey of your account was removed',
} as const;

const greeting = (name: string) => `Hello ${nameInMail(name)},`;

export function createMails(publicUrl: string): Mails {
  const site = new URL(publicUrl).host;
  const forgot = `${publicUrl}/auth/forgot-password`;
  return {
    passwordReset: (name, token, minutes) => ({
      subject: `Reset your password at ${site}`,
      paragraphs: [
        greeting(name),
        `Someone requested a new password for your account at ${site}. The link below works once, for ${minutes} minutes.`,
        'If it was not you, ignore this message: your password stays unchanged.',
      ],
      link: { label: 'Choose a new password', url: `${publicUrl}/auth/reset-password?token=${token}` },
    }),
    secondFactorChanged: (name, how) => ({
      subject: `${SECOND_FACTOR[how]} at ${site}`,
      paragraphs: [
        greeting(name),
        `${SECOND_FACTOR[how]} at ${site}.`,
        'If it was not you, change your password at once, and check the list of your sessions.',
      ],
      link: { label: 'Your account', url: `${publicUrl}/auth/account` },
    }),
    verification: (name, token) => ({
      subject: `Confirm your e-mail address at ${site}`,
      paragraphs: [
        greeting(name),
        `Confirm with the link below that this is the address of your account at ${site}.`,
        'If you have no account there, ignore this message.',
      ],
      link: { label: 'Confirm the address', url: `${publicUrl}/auth/verify-email?token=${token}` },
    }),
    accountReclaimed: (name) => ({
      subject: `Your account at ${site} is yours alone`,
      paragraphs: [
        greeting(name),
        `You have set the password of the account with this address at ${site}, and so confirmed the address. Somebody else could have created the account before. API keys, passkeys, the authenticator app, sessions and connections to other systems that were set up until then have ended.`,
        'What was shared from the account stays shared: look at the members of its workspaces, and at its share links and publications.',
      ],
      link: { label: 'Your account', url: `${publicUrl}/auth/account` },
    }),
    passwordChanged: (name) => ({
      subject: `Your password at ${site} was changed`,
      paragraphs: [
        greeting(name),
        `The password of your account at ${site} was changed, and your other sessions were ended.`,
        'If it was not you, request a new password at once.',
      ],
      link: { label: 'Ask for a new password', url: forgot },
    }),
  };
}
