import { defineError } from '@commonplace/kit/errors';

export const ModelNotFound = defineError('NOT_FOUND', 'not_found', 'This installation has no chat model {model}.');
