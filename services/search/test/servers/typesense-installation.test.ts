import { installationContract } from '@commonplace/kit/testing';
import { openTypesenseIndex } from '../../src/index/typesense/index.js';
import { openTypesenseInstallation } from '../../src/index/typesense/installation.js';
import { dropCollections, typesense } from './typesense-server.js';

let count = 0;

installationContract('an index in typesense', async () => {
  count++;
  const prefix = `owner${process.pid}x${count}`;
  return {
    isShared: true,
    open: async () => openTypesenseInstallation({ ...typesense(), prefix }),
    async fill() {
      const index = openTypesenseIndex({ ...typesense(), prefix });
      await index.stats();
      await index.close();
    },
    close: () => dropCollections(prefix),
  };
});
