"""A filter as it is published, and its znode."""

from nncache.invalidation.channel.published_filters import PublishedFilter

PUBLISHED = PublishedFilter(
    name="joe",
    id="c0ffee",
    path_glob="/user/joe/*/_SUCCESS",
    since_txid=17,
    owner="joe",
    allowed_subscribers=("ann", "bob"),
)
PUBLISHED_JSON = (
    b'{"version":1,"id":"c0ffee","pathGlob":"/user/joe/*/_SUCCESS","since":17,"owner":"joe",'
    b'"allowedSubscribers":["ann","bob"]}'
)
