import { type Mail, nameInMail, textInMail } from '@commonplace/platform/mail';

interface InvitationMail {
  readonly email: string;
  readonly inviterName: string;
  /** Name of the Org or workspace. */
  readonly placeName: string;
  readonly message?: string | undefined;
  readonly url: string;
}

/** Returns the e-mail that delivers an invitation. */
export function invitationMail({ email, message, url, ...names }: InvitationMail): Mail {
  const inviterName = nameInMail(names.inviterName);
  const placeName = nameInMail(names.placeName);
  return {
    to: email,
    subject: `${inviterName} invites you to ${placeName}`,
    paragraphs: [
      `${inviterName} invites you to ${placeName} at ${new URL(url).host}.`,
      ...(message === undefined || message === '' ? [] : [`${inviterName} writes:\n${textInMail(message)}`]),
      'If you do not know the sender, ignore this message.',
    ],
    link: { label: 'See the invitation', url },
  };
}
