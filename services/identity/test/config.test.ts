import { readConfig } from '@commonplace/kit/config';
import { describe, expect, test } from '@jest/globals';
import { config } from '../src/config.js';
import { isAllowedUrl, parseIssuers } from '../src/oidc/issuers.js';
import { SECRET } from './support/harness.js';

describe('settings', () => {
  test('require a secret key, and never show any part of it', () => {
    expect(() => readConfig(config, {})).toThrow('COMMONPLACE_SECRET_KEY is not set');
    const env = { COMMONPLACE_SECRET_KEY: 'hunter2', COMMONPLACE_SIGN_UP: 'everybody' };
    expect(() => readConfig(config, env)).toThrow(/COMMONPLACE_SIGN_UP must be one of/);
    expect(() => readConfig(config, env)).not.toThrow(/hunter2/);
  });

  test('default to invitations, 12 hours and 30 days', () => {
    const values = readConfig(config, { COMMONPLACE_SECRET_KEY: SECRET });
    expect(values).toMatchObject({ signUp: 'invite', sessionIdleHours: 12, sessionDays: 30, oidcIssuers: [] });
  });
});

describe('issuers', () => {
  test('can be pairs', () => {
    expect(parseIssuers('https://id.example.com|commonplace, http://127.0.0.1:9/|x')).toEqual([
      expect.objectContaining({ issuer: 'https://id.example.com', audiences: ['commonplace'], createUsers: false }),
      expect.objectContaining({ issuer: 'http://127.0.0.1:9/', audiences: ['x'], defaultScopes: [] }),
    ]);
  });

  test('can be a JSON list', () => {
    const one = {
      issuer: 'https://id.example.com',
      audience: ['a', 'b'],
      default_scopes: ['org:read'],
      create_users: true,
      email_domains: ['Example.com'],
      link_accounts: true,
      acr_values: ['phr'],
      amr_values: ['mfa', 'hwk'],
      max_age_minutes: 60,
      id_tokens: true,
      typed_tokens: true,
    };
    expect(parseIssuers(JSON.stringify([one]))).toEqual([
      {
        issuer: 'https://id.example.com',
        audiences: ['a', 'b'],
        defaultScopes: ['org:read'],
        createUsers: true,
        emailDomains: ['example.com'],
        linkAccounts: true,
        authentication: { acrValues: ['phr'], amrValues: ['mfa', 'hwk'], maxAgeSeconds: 3600 },
        idTokens: true,
        typedTokens: true,
      },
    ]);
  });

  test.each([
    'http://id.example.com|x',
    'https://id.example.com',
    '[{"issuer":"https://a","audience":"x","default_scopes":["root"]}]',
    '[{"issuer":"https://a","audience":"x","create_user":true}]',
    'https://a|x,https://a|y',
    '[{',
  ])('refuse %s', (text) => {
    expect(() => parseIssuers(text)).toThrow();
  });

  test.each([
    ['https://example.com', true],
    ['http://localhost:3000', true],
    ['http://127.0.0.1', true],
    ['http://[::1]:80', true],
    ['http://127.0.0.1.example.com', false],
    ['http://10.0.0.1', false],
    ['file:///etc/passwd', false],
    ['no url', false],
  ])('decides whether %s may be fetched: %s', (url, allowed) => {
    expect(isAllowedUrl(url)).toBe(allowed);
  });
});
