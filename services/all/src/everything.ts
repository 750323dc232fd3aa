import { files } from '@commonplace/files';
import { gateway } from '@commonplace/gateway';
import { identity } from '@commonplace/identity';
import type { ServiceModule } from '@commonplace/kit/runtime';
import { messaging } from '@commonplace/messaging';
import { resources } from '@commonplace/resources';
import { search } from '@commonplace/search';
import { tenancy } from '@commonplace/tenancy';
import { welcome } from './welcome.js';

/** All services, the gateway when they are up, and the welcome when it listens. */
export const everything: readonly ServiceModule[] = [
  identity,
  tenancy,
  resources,
  files,
  search,
  messaging,
  gateway,
  welcome,
];
