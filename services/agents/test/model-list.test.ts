import { ConfigError } from '@commonplace/kit/config';
import { describe, expect, test } from '@jest/globals';
import { creditsOf, parseModelList } from '../src/models/model-list.js';
import { openModels } from '../src/open-models.js';
import { settingsOf } from './settings.js';

const URL = 'https://models.example.com/v1';
const json = (...models: unknown[]) => parseModelList(JSON.stringify(models));

describe('the setting with the models', () => {
  test('may be ids only, the first of which is the default', () => {
    expect(parseModelList('llama3.1:8b, vendor/model')).toEqual([
      {
        id: 'llama3.1:8b',
        name: 'llama3.1:8b',
        model: 'llama3.1:8b',
        contextTokens: 32_768,
        maxOutputTokens: 4096,
        supportsTools: true,
        supportsStreaming: true,
        supportsOutputSchema: false,
        rates: { inputPer1k: 0, outputPer1k: 0 },
        isDefault: true,
      },
      expect.objectContaining({ id: 'vendor/model', isDefault: false }),
    ]);
  });

  test('may describe each model', () => {
    expect(
      json(
        { id: 'a' },
        {
          id: 'b',
          name: 'The B',
          model: 'vendor/b-2025',
          context_tokens: 1000,
          max_output_tokens: 500,
          supports_tools: false,
          supports_streaming: false,
          supports_output_schema: true,
          credit_rates: { input_per_1k: '0.000001', output_per_1k: 1.5 },
          is_default: true,
        },
      ),
    ).toEqual([
      expect.objectContaining({ id: 'a', isDefault: false }),
      {
        id: 'b',
        name: 'The B',
        model: 'vendor/b-2025',
        contextTokens: 1000,
        maxOutputTokens: 500,
        supportsTools: false,
        supportsStreaming: false,
        supportsOutputSchema: true,
        rates: { inputPer1k: 1, outputPer1k: 1_500_000 },
        isDefault: true,
      },
    ]);
  });

  test('limits output tokens to the size of a small context', () => {
    expect(json({ id: 'a', context_tokens: 2048 })[0]?.maxOutputTokens).toBe(2047);
  });

  test.each<[string, RegExp]>([
    ['[', /well-formed JSON/],
    ['[]', /must name a model/],
    ['a,,b', /\[1\]\.id/],
    ['a b', /\[0\]\.id must be/],
    ['a,a', /names a twice/],
    ['builtin:extractive', /not begin with builtin:/],
    ['[1]', /\[0\] must be an object/],
    ['[{"name":"a"}]', /\[0\]\.id must be a text/],
    ['[{"id":"a","context":1}]', /\[0\] has an unknown field context; there are id, name/],
    ['[{"id":"a","context_tokens":"many"}]', /\[0\]\.context_tokens must be a whole number/],
    ['[{"id":"a","context_tokens":100,"max_output_tokens":100}]', /max_output_tokens must be below context_tokens/],
    ['[{"id":"a","supports_tools":"yes"}]', /\[0\]\.supports_tools must be true or false/],
    ['[{"id":"a","credit_rates":{"input_per_1k":"-1"}}]', /\[0\]\.credit_rates\.input_per_1k must be credits/],
    ['[{"id":"a","credit_rates":{"input_per_1k":"0.0000001"}}]', /six decimals/],
    ['[{"id":"a","is_default":true},{"id":"b","is_default":true}]', /at most one model with is_default/],
  ])('is refused as %s', (value, about) => {
    expect(() => parseModelList(value)).toThrow(about);
    expect(() => settingsOf({ COMMONPLACE_CHAT_MODELS: value })).toThrow(ConfigError);
  });

  test('requires the URL, and the URL requires it', () => {
    expect(() => openModels(settingsOf({ COMMONPLACE_CHAT_MODELS: 'a' }))).toThrow(
      /COMMONPLACE_CHAT_MODEL_URL is required/,
    );
    expect(() => openModels(settingsOf({ COMMONPLACE_CHAT_MODEL_URL: URL }))).toThrow(
      /COMMONPLACE_CHAT_MODELS has to name/,
    );
    expect(() => settingsOf({ COMMONPLACE_CHAT_MODEL_URL: 'ftp://models.example.com' })).toThrow(ConfigError);
    expect(openModels(settingsOf({})).isConfigured).toBe(false);
  });
});

describe('credits', () => {
  test.each([
    [0, '0'],
    [1, '0.000001'],
    [150_000, '0.15'],
    [2_000_000, '2'],
    [10_500_000, '10.5'],
  ])('of %i micro-credits are written as %s', (micros, credits) => {
    expect(creditsOf(micros)).toBe(credits);
  });
});
