import { expect, test } from '@jest/globals';
import { invitationMail } from '../src/domain/invitation-mail.js';

test('addresses that people have written into an invitation are no links', () => {
  const { subject, paragraphs, link } = invitationMail({
    email: 'ada@example.com',
    inviterName: 'win.example',
    placeName: 'https://prize.example',
    message: `See https://evil.example/login, evil.example or mail help@evil.example.\n${'x'.repeat(100)}`,
    url: 'https://wiki.example.com/auth/sign-up?invite=x',
  });
  const text = [subject, ...paragraphs].join('\n').replace('at wiki.example.com.', '');
  expect(text.match(/[a-z]+[.:/@][a-z/]+/g)).toBeNull();
  expect(text.replaceAll('\u200b', '')).toContain('See https://evil.example/login, evil.example or mail');
  expect(text).toContain('x'.repeat(100));
  expect(link?.url).toBe('https://wiki.example.com/auth/sign-up?invite=x');
});
