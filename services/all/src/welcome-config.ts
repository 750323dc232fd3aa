import { defineSettings, emailAddress, flag, text } from '@commonplace/kit/config';
import { PUBLIC_URL } from '@commonplace/platform/settings';

export const welcomeConfig = defineSettings({
  publicUrl: {
    ...PUBLIC_URL,
    common: 'URL that people reach it by',
    help: 'URL that clients reach this server by',
  },
  ownerEmail: {
    common: 'address of the first account',
    help: 'e-mail address of the owner that the first start makes',
    parse: emailAddress,
    fallback: 'owner@localhost',
  },
  ownerPassword: {
    help: 'password of that owner, 8 characters or more; the first start generates one where there is none',
    parse: (value: string) => {
      if (value.length < 8) throw new Error('is too short');
      return value;
    },
    fallback: undefined as string | undefined,
    secret: true,
  },
  bootstrapJson: {
    common: 'file for its sign-in and key',
    help: 'file that the first start writes the sign-in and key to; bootstrap.json in the data folder without a terminal',
    parse: text,
    fallback: undefined as string | undefined,
  },
  sample: {
    common: '0: no workspace with the documentation',
    help: '0 keeps the first start from making a workspace that holds the documentation',
    parse: flag,
    fallback: true,
  },
});
