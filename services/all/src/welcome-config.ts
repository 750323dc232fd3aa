import { flag, type Table, text } from '@commonplace/kit/config';

export const welcomeConfig = {
  publicUrl: {
    variable: 'COMMONPLACE_PUBLIC_URL',
    help: 'URL that clients reach this server by',
    parse: text,
    fallback: 'http://127.0.0.1:8080',
  },
  ownerEmail: {
    variable: 'COMMONPLACE_OWNER_EMAIL',
    help: 'e-mail address of the owner that the first start makes',
    parse: text,
    fallback: 'owner@localhost',
  },
  bootstrapJson: {
    variable: 'COMMONPLACE_BOOTSTRAP_JSON',
    help: 'file that the first start writes its sign-in and key to',
    parse: text,
    fallback: undefined as string | undefined,
  },
  sample: {
    variable: 'COMMONPLACE_SAMPLE',
    help: '0 keeps the first start from making a workspace that holds the documentation',
    parse: flag,
    fallback: true,
  },
} satisfies Table;
