import { defineNotFound } from '@commonplace/kit/errors';

export const ModelNotFound = defineNotFound('not_found', 'This installation has no chat model {model}.');
