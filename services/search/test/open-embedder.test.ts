import { ConfigError, readConfig } from '@commonplace/kit/config';
import { describe, expect, test } from '@jest/globals';
import { config } from '../src/config.js';
import { openEmbedder } from '../src/open-embedders.js';

const opened = (env: NodeJS.ProcessEnv) => openEmbedder(readConfig(config, env));
const URL = 'https://models.example.com/v1/';

describe('configured embedder', () => {
  test('is the bundled model by default, and none when embeddings are off', async () => {
    const embedder = opened({});
    expect(embedder?.model).toMatchObject({ name: 'all-MiniLM-L6-v2', dimensions: 384, maxTokens: 256 });
    await embedder?.close();
    expect(opened({ COMMONPLACE_EMBEDDINGS: 'off' })).toBeUndefined();
  });

  test('is an endpoint with its model and vector length when a URL is set', async () => {
    const embedder = opened({
      COMMONPLACE_EMBEDDINGS: URL,
      COMMONPLACE_EMBEDDINGS_MODEL: 'text-embedding-3-small',
      COMMONPLACE_EMBEDDINGS_DIMENSIONS: '512',
    });
    expect(embedder?.model).toMatchObject({ id: 'text-embedding-3-small:512', dimensions: 512, maxTokens: 512 });
    await embedder?.close();
  });

  test('is refused when the settings are incomplete', () => {
    expect(() => opened({ COMMONPLACE_EMBEDDINGS: URL })).toThrow(/COMMONPLACE_EMBEDDINGS_MODEL/);
    expect(() => opened({ COMMONPLACE_EMBEDDINGS: 'of' })).toThrow(ConfigError);
    expect(() => opened({ COMMONPLACE_EMBEDDINGS: 'ftp://models.example.com' })).toThrow(ConfigError);
    expect(() => opened({ COMMONPLACE_EMBEDDINGS_FOLDER: '/nowhere' })).toThrow(/COMMONPLACE_EMBEDDINGS_FOLDER/);
  });
});
